// SPDX-License-Identifier: MIT
// Numbers written in nested braces, as a dense tensor holds them.
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
