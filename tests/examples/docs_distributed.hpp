// SPDX-License-Identifier: MIT
// Definitions for the examples of docs/distributed.md: those of <tyto/distributed.hpp>.
#pragma once

#include "tests/examples/distributed.hpp"
