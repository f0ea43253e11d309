// SPDX-License-Identifier: MIT
// Shared by programs of loops and branches: scalars of a type, and gradients against finite differences.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tyto/autodiff.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace flow_programs {

using tyto::DType;
using tyto_test::doubles;
using tyto_test::finite_differences;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class T>
T whole(std::int64_t number) {
  return T(number).astype(DType::i64);
}
template <class T>
T real(double number) {
  return T::full({}, number, DType::f64);
}
inline void check_near(const Numbers& found, const Numbers& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

/// The gradient of f against differences, then that of a weighted sum of the gradient against differences of it.
template <class T, class F>
void check_gradients(const F& f, const Numbers& at, const tyto::Shape& shape) {
  const auto gradient = [&](const T& x) { return tyto::grad(f)(x); };
  check_near(numbers(gradient(doubles<T>(at, shape))), finite_differences<T>(f, at, shape), 1e-7);
  const auto weighted = [&](const T& x) {
    const T found = gradient(x);
    return sum(found * cos(T::arange(found.size()).astype(DType::f64).reshape(found.shape())));
  };
  check_near(numbers(tyto::grad(weighted)(doubles<T>(at, shape))), finite_differences<T>(weighted, at, shape), 1e-6);
}

}  // namespace flow_programs
