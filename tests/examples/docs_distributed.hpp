// SPDX-License-Identifier: MIT
// The examples of docs/distributed.md take for granted what those of <tyto/distributed.hpp> do.
#pragma once

#include "tests/examples/distributed.hpp"
