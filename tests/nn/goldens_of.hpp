// SPDX-License-Identifier: MIT
// Reads the goldens of layers, losses and rules, and compares results with them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto::nn::goldens {

inline const std::string layers_file = "tests/nn/goldens/layers.npz";
inline const std::string losses_file = "tests/nn/goldens/losses.npz";
inline const std::string descent_file = "tests/nn/goldens/descent.npz";

/// The arrays of an archive, read once.
inline const std::map<std::string, Tensor<Eager>>& arrays(const std::string& path) {
  static std::map<std::string, std::map<std::string, Tensor<Eager>>> archives;
  std::map<std::string, Tensor<Eager>>& list = archives[path];
  if (list.empty()) {
    for (const Named<Tensor<Eager>>& array : read_npz(path)) list.emplace(array.name, array.value);
  }
  return list;
}

inline bool has(const std::string& path, const std::string& name) { return arrays(path).count(name) != 0; }

/// An array in a mode, floating-point numbers as f64.
template <class M>
Tensor<M> array(const std::string& path, const std::string& name) {
  const auto place = arrays(path).find(name);
  if (place == arrays(path).end()) FAIL(path << " has no " << name);
  const Tensor<Eager>& x = place->second;
  const Tensor<M> same = Tensor<M>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype());
  return is_floating(x.dtype()) ? same.astype(DType::f64) : same;
}

/// Goldens are kept in f32: equal to its last place, relative to the largest element.
template <class M>
void check_near(const Tensor<M>& found, const Tensor<Eager>& expected, const char* what) {
  CAPTURE(what);
  REQUIRE(to_string(found.shape()) == to_string(expected.shape()));
  const std::vector<double> a = found.astype(DType::f64).template to_vector<double>();
  const std::vector<double> b = expected.astype(DType::f64).to_vector<double>();
  double largest = 1e-3;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  CHECK(worst <= 2e-7 * largest);
}

}  // namespace tyto::nn::goldens
