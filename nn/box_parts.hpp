// SPDX-License-Identifier: MIT
// Checks of the shapes of boxes and masks, and intersection over union.
#pragma once

#include "core/graph/in_f32.hpp"
#include "core/value/text.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto::nn {

/// `axes`: how many there must be at least, the last one of four numbers.
inline void check_boxes(const char* function, const Tensor<Any>& boxes, std::int64_t axes) {
  if (boxes.ndim() < axes || boxes.shape().back() != 4) {
    core::throw_error<ShapeError>(function, ": boxes (..., ", axes > 1 ? "count, " : "", "4) are needed, not ",
                                  boxes.shape());
  }
  if (!is_floating(boxes.dtype())) {
    core::throw_error<TypeError>(function, ": boxes are ", name_of(boxes.dtype()), "; a floating type is expected");
  }
}

/// `x`, with a ValueError where `wrong` is true of some element: "function: 3 elements of ...", in eager mode at once,
/// else when what is made of `x` runs.
inline Tensor<Any> refuse_where(const char* function, const Tensor<Any>& x, const Tensor<Any>& wrong,
                                const std::string& told) {
  const Tensor<Any> count = check_bounds(sum(cast(wrong, DType::i64)),
                                         {.low = 0, .high = 0, .caller = function, .subject = told, .range = ""});
  return where(equal(count, 0), x, 0.0);
}
inline Tensor<Any> refuse_nan(const char* function, const char* argument, const Tensor<Any>& x) {
  return refuse_where(function, x, isnan(x), core::text("elements of ", argument, " are NaN"));
}

/// Intersection over union, from the areas of the intersection and of both operands; 0 where the union is empty.
inline Tensor<Any> part_of(const Tensor<Any>& both, const Tensor<Any>& a, const Tensor<Any>& b) {
  const Tensor<Any> all = a + b - both;
  return both / where(less_equal(all, 0.0), 1.0, all);
}

}  // namespace tyto::nn
