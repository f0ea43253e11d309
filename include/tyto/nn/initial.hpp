// SPDX-License-Identifier: MIT
// First values of weights. Draws come from the sequence that `tyto::seed` starts.
#pragma once

#include <functional>

#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// How many inputs each output of a layer has, and how many outputs each input goes to.
struct Fans {
  double in = 1;   ///< elements that one result depends on
  double out = 1;  ///< results that one element goes into
};

/// A function that draws the first values of a weight.
using Initialiser = std::function<Tensor<Any>(const Shape& shape, const Fans& fans, DType dtype)>;

/// Uniform within sqrt(6 / (in + out)): keeps the variance through layers that are nearly linear (Glorot, Bengio 2010).
Tensor<Any> glorot_uniform(const Shape& shape, const Fans& fans, DType dtype);
/// Normal with variance 2 / (in + out).
Tensor<Any> glorot_normal(const Shape& shape, const Fans& fans, DType dtype);
/// Uniform within sqrt(6 / in): keeps the variance through layers with relu (He et al. 2015).
Tensor<Any> he_uniform(const Shape& shape, const Fans& fans, DType dtype);
/// Normal with variance 2 / in.
Tensor<Any> he_normal(const Shape& shape, const Fans& fans, DType dtype);
/// Uniform within 1 / sqrt(in).
Tensor<Any> lecun_uniform(const Shape& shape, const Fans& fans, DType dtype);
/// Every weight the same.
Initialiser constant_weights(double value);
/// Normal with this standard deviation.
Initialiser normal_weights(double stddev);
/// Uniform within this distance of 0.
Initialiser uniform_weights(double limit);
/// Normal with this standard deviation, but nothing further than two of them from 0 (before that cut).
Initialiser truncated_normal_weights(double stddev);
/// Columns (one an output, the other axes flattened) orthogonal to each other, or rows where there are fewer of them,
/// all of the length `gain` (Saxe et al. 2014).
Initialiser orthogonal_weights(double gain = 1);

}  // namespace TYTO_API
}  // namespace tyto
