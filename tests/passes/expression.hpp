// SPDX-License-Identifier: MIT
// Graphs of element-wise operators from text: "add(multiply(x, y), 0)".
#pragma once

#include <string_view>

#include "tests/passes/sketch.hpp"

namespace tyto::testing {

/// One output, and one for each operator with `!` behind it, which so gets a second consumer. Letters are inputs of
/// shape (2,3), the same letter the same input; numbers are tensors of that number; `bool` in front of an expression's
/// letter, as in "where(bool c, x, y)", makes it an input of bools.
core::Graph graph_of(std::string_view expression, DType dtype = DType::f32);

}  // namespace tyto::testing
