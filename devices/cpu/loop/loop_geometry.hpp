// SPDX-License-Identifier: MIT
// The axes of an element-wise loop in the order in which it is best to traverse memory, and the rectangles that it runs
// over: rows of elements side by side, and what lies around them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/device/device.hpp"

namespace tyto::cpu {

/// Views of all operands, inputs first, with their axes ordered by the memory of the first output and merged where all
/// allow it.
struct OrderedAxes {
  std::vector<core::View> views;
  std::vector<std::ptrdiff_t> widths;  ///< bytes of an element of each operand
  /// Some operand's memory runs along the second innermost axis: blocks of few columns read whole cache lines.
  bool crossed = false;
};

/// Orders the axes of a loop; with `row_major` elements keep their order, the first output being dense.
OrderedAxes order_axes(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
                       bool row_major = false);

/// The layout of an operand; all strides in bytes.
struct OperandLayout {
  std::ptrdiff_t start = 0, row = 0, column = 0;
  IntList outer;  ///< one stride for each outer axis
};

/// The innermost axis is a row; the one around it may count rows; the others are outer axes.
struct LoopGeometry {
  std::int64_t elements = 0;  ///< of the whole shape
  std::int64_t columns = 1, rows = 1;
  Shape outer;
  std::int64_t outer_count = 1;
  std::vector<OperandLayout> layouts;  ///< inputs, then outputs
  bool crossed = false;                ///< as of OrderedAxes
};

/// The rectangles over the `inner` innermost axes: two, or one where each row is an outer index of its own.
LoopGeometry loop_geometry(const OrderedAxes& axes, std::size_t inner);

}  // namespace tyto::cpu
