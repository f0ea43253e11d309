// SPDX-License-Identifier: MIT
// Views complex operands as real ones: pairs along one more axis, or one part of each element.
#pragma once

#include "core/device/device.hpp"

namespace tyto::opencl {

/// The operand with one more axis, of the real and the imaginary part of each element; a real one as it is.
inline core::Operand as_pairs(core::Operand operand) {
  if (!is_complex(operand.dtype)) return operand;
  for (std::int64_t& stride : operand.view.strides) stride *= 2;
  operand.view.offset *= 2;
  operand.view.shape.push_back(2);
  operand.view.strides.push_back(1);
  return {real_type(operand.dtype), operand.view};
}

/// The real parts of a complex operand (0), or the imaginary ones (1).
inline core::Operand part_of_pairs(core::Operand operand, std::int64_t part) {
  const DType real = real_type(operand.dtype);
  for (std::int64_t& stride : operand.view.strides) stride *= 2;
  operand.view.offset = 2 * operand.view.offset + part;
  return {real, operand.view};
}

}  // namespace tyto::opencl
