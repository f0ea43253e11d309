// SPDX-License-Identifier: MIT
// Reads tensors as doubles, and computes finite differences.
#pragma once

#include <cstddef>
#include <vector>

#include <tyto/tyto.hpp>

namespace tyto_test {

/// The elements in row-major order, of whatever type.
template <class M>
std::vector<double> numbers(const tyto::Tensor<M>& x) {
  return x.astype(tyto::DType::f64).template to_vector<double>();
}

using Numbers = std::vector<double>;

/// An f64 tensor of these elements.
template <class T>
T doubles(const Numbers& elements, const tyto::Shape& shape) {
  return T::from(elements, shape);
}

/// Central differences of a function from many numbers to one, by public reads only.
template <class T, class F>
Numbers finite_differences(F f, const Numbers& at, const tyto::Shape& shape, double step = 1e-5) {
  Numbers gradients;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Numbers high = at, low = at;
    high[i] += step;
    low[i] -= step;
    const double up = f(doubles<T>(high, shape)).template item<double>();
    const double down = f(doubles<T>(low, shape)).template item<double>();
    gradients.push_back((up - down) / (2 * step));
  }
  return gradients;
}

}  // namespace tyto_test
