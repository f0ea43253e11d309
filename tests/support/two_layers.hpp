// SPDX-License-Identifier: MIT
// Two layers of relu of integers so small that every order of summation gives the same bits, and what they give.
#pragma once

#include <algorithm>

#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace tyto_test {

/// Rows of 32 elements that tell calls of clients apart.
inline double element_of_call(int client, int call, std::int64_t i) {
  return static_cast<double>((client * 7 + call * 3 + i) % 11);
}
template <class T>
T input_of_call(int client, int call, std::int64_t rows = 1) {
  Numbers values;
  for (std::int64_t i = 0; i < rows * 32; ++i) values.push_back(element_of_call(client, call, i));
  return T::from(values, {rows, 32}).astype(tyto::DType::f32);
}

inline double weight_element(std::int64_t i) { return static_cast<double>(i * i % 7) - 3.0; }
template <class T>
T weights_of(std::int64_t rows, std::int64_t columns) {
  Numbers values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(weight_element(i));
  return T::from(values, {rows, columns}).astype(tyto::DType::f32);
}

/// relu(x first) second, with weights of (32, 64) and (64, 16).
template <class T>
struct TwoLayers {
  T first = T::variable(weights_of<T>(32, 64), "first");
  T second = T::variable(weights_of<T>(64, 16), "second");

  T operator()(const T& x) const { return matmul(relu(matmul(x, first)), second); }
};

/// The same, by loops.
inline Numbers two_layers_of_call(int client, int call, std::int64_t rows = 1) {
  Numbers out;
  for (std::int64_t row = 0; row < rows; ++row) {
    Numbers hidden(64, 0.0);
    for (std::int64_t k = 0; k < 32; ++k) {
      for (std::int64_t j = 0; j < 64; ++j) {
        hidden[static_cast<std::size_t>(j)] += element_of_call(client, call, row * 32 + k) * weight_element(k * 64 + j);
      }
    }
    for (std::int64_t j = 0; j < 16; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 64; ++k) {
        sum += std::max(0.0, hidden[static_cast<std::size_t>(k)]) * weight_element(k * 16 + j);
      }
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace tyto_test
