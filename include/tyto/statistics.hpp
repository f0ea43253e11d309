// Statistics that need the elements in order: median and quantiles.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Middle element by size, or the mean of the two in the middle; NaN if there is one. Integers give f32.
template <class M>
Tensor<M> median(const Tensor<M>& x, const Axes& axes = {}, bool keepdims = false);
/// The number that the part `q` (0 to 1) of the elements does not exceed, in a straight line between neighbours as
/// NumPy's default; NaN if there is one.
template <class M>
Tensor<M> quantile(const Tensor<M>& x, double q, const Axes& axes = {}, bool keepdims = false);

}  // namespace TYTO_API
