// SPDX-License-Identifier: MIT
// The axes of an element-wise loop, in the order in which it is best to traverse memory.
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

/// With `row_major` elements keep their order, the first output being dense.
OrderedAxes order_axes(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
                       bool row_major = false);

}  // namespace tyto::cpu
