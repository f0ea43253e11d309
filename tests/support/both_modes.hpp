// SPDX-License-Identifier: MIT
// A test case that runs once in each mode, which it knows as Mode.
#pragma once

#include <doctest/doctest.h>

#include <tyto/tensor.hpp>

#define BOTH_MODES(sentence) TEST_CASE_TEMPLATE(sentence, Mode, tyto::Eager, tyto::Lazy)
