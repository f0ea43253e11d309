// SPDX-License-Identifier: MIT
// What functions of boxes and of masks share: the check of shapes, and the quotient that overlap is.
#pragma once

#include "core/graph/in_f32.hpp"
#include "core/value/text.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/tensor.hpp"

namespace tyto::nn {

/// `axes`: how many there must be at least, the last one of four numbers.
inline void check_boxes(const char* function, const Tensor<Any>& boxes, std::int64_t axes) {
  if (boxes.ndim() < axes || boxes.shape().back() != 4) {
    throw ShapeError(
        core::text(function, ": boxes (..., ", axes > 1 ? "count, " : "", "4) are needed, not ", boxes.shape()));
  }
  if (!is_floating(boxes.dtype())) {
    throw TypeError(core::text(function, ": boxes are ", name_of(boxes.dtype()), "; a floating type is expected"));
  }
}

/// What both cover over what one of them does; 0 where nothing is covered.
inline Tensor<Any> part_of(const Tensor<Any>& both, const Tensor<Any>& a, const Tensor<Any>& b) {
  const Tensor<Any> all = a + b - both;
  return both / where(less_equal(all, 0.0), 1.0, all);
}

}  // namespace tyto::nn
