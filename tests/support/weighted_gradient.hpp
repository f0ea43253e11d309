// SPDX-License-Identifier: MIT
// Gradients of a weighted sum of a result's elements, so that no element can stand for another.
#pragma once

#include <doctest/doctest.h>

#include "tests/support/numbers.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::testing {

using tyto_test::Numbers;
using tyto_test::numbers;

template <class M>
Tensor<M> vector_of(const Numbers& numbers) {
  return Tensor<M>::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

/// 1, 2, 3, ... in the given shape.
template <class M>
Tensor<M> counted(const Shape& shape) {
  return reshape(Tensor<M>::arange(1, element_count(shape) + 1, 1, DType::f64), shape);
}

/// Gradient of the sum of f(x), each element weighted by its number from one.
template <class M, class F>
Numbers weighted_gradient(const Tensor<M>& x, F f) {
  const Tensor<M> gradient = grad([&](const Tensor<M>& v) {
    const Tensor<M> y = f(v);
    return sum(y * counted<M>(y.shape()));
  })(x);
  CHECK(gradient.shape() == x.shape());
  return numbers(gradient);
}

}  // namespace tyto::testing
