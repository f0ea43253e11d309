// SPDX-License-Identifier: MIT
// Parts of losses: the check of two shapes, and the reduction of all losses.
#pragma once

#include "core/graph/in_f32.hpp"
#include "core/value/text.hpp"
#include "tyto/nn/losses.hpp"
#include "tyto/reduce.hpp"

namespace tyto::nn {

inline Tensor<Any> reduced(const Tensor<Any>& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::mean: return mean(losses);
    case Reduction::sum: return sum(losses);
    case Reduction::none: break;
  }
  return losses;
}

inline void check_pair(const char* loss, const Tensor<Any>& prediction, const Tensor<Any>& target) {
  if (prediction.shape() != target.shape()) {
    core::throw_error<ShapeError>(loss, ": the prediction ", prediction.shape(), " and the target ", target.shape(),
                                  " must have one shape");
  }
  if (!is_floating(prediction.dtype())) {
    core::throw_error<TypeError>(loss, ": the prediction is ", name_of(prediction.dtype()),
                                 "; a floating type is expected");
  }
}

}  // namespace tyto::nn
