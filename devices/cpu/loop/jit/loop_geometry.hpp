// SPDX-License-Identifier: MIT
// The rectangles that a loop runs over: rows of elements side by side, and what lies around them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/device/device.hpp"

namespace tyto::cpu::jit {

/// Axes are ordered by the memory of the first output and merged where all operands allow it. The innermost is a row;
/// the one around it counts rows; the others are outer axes.
struct LoopGeometry {
  /// Strides in bytes.
  struct OperandLayout {
    std::ptrdiff_t start = 0, row = 0, column = 0;
    IntList outer;
  };

  std::int64_t elements = 0;
  std::int64_t columns = 1, rows = 1;
  Shape outer;
  std::int64_t outer_count = 1;
  std::vector<OperandLayout> layouts;  ///< inputs, then outputs
  /// Some operand's memory runs along the rows' axis: rectangles of few columns read whole cache lines.
  bool crossed = false;
};

LoopGeometry loop_geometry(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs);

}  // namespace tyto::cpu::jit
