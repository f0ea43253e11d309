// SPDX-License-Identifier: MIT
// Nested braces of numbers, flattened to a dense tensor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::run {

struct Literal {
  Shape shape;
  DType dtype = DType::f32;  ///< that holds all the numbers
  std::vector<std::byte> bytes;
};

/// Ragged rows are an error.
Literal read_literal(std::span<const NestedList> rows);

}  // namespace tyto::run
