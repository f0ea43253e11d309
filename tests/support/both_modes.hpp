// SPDX-License-Identifier: MIT
// Runs a test case once in each mode, which it knows as Mode.
#pragma once

#include <doctest/doctest.h>

#include <tyto/tensor.hpp>

#define BOTH_MODES(sentence) TEST_CASE_TEMPLATE(sentence, Mode, tyto::Eager, tyto::Lazy)
