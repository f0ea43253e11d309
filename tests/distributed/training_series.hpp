// SPDX-License-Identifier: MIT
// Shared by tests of training: random data, parameters and files as numbers, and the distance of two series of losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

namespace distributed_tests {

/// 46 samples, which make a batch of 24 and one of 22.
template <class T>
T drawn_data(std::int64_t columns, tyto::DType dtype) {
  return T::normal({46, columns}, {.dtype = dtype, .key = tyto::Key{11, 0}.split(static_cast<std::uint64_t>(columns))});
}

template <class T>
std::vector<double> values_of(const std::vector<T>& parameters) {
  std::vector<double> all;
  for (const T& parameter : parameters) {
    const auto own = parameter.astype(tyto::DType::f64).template to_vector<double>();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

inline std::vector<double> read(const std::string& file) {
  std::ifstream in(file);
  return {std::istream_iterator<double>(in), {}};
}

/// The largest difference of two series, by the largest number in them.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart = std::max(apart, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return apart / size;
}

}  // namespace distributed_tests
