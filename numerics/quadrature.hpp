// SPDX-License-Identifier: MIT
// Gauss and Legendre's quadrature on [0, 1], for integrals along an axis of their own.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace tyto::core {

struct Quadrature {
  static constexpr int count = 48;
  std::vector<double> places, weights;

  Quadrature() {
    for (int i = 0; i < count; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5)), slope = 0;
      for (int newton = 0; newton < 8; ++newton) {
        double before = 0, value = 1;
        for (int k = 1; k <= count; ++k) {
          const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
          before = value;
          value = next;
        }
        slope = count * (x * value - before) / (x * x - 1);
        x -= value / slope;
      }
      places.push_back(0.5 * (1 - x));
      weights.push_back(1 / ((1 - x * x) * slope * slope));
    }
  }
};

inline const Quadrature& quadrature() {
  static const Quadrature made;
  return made;
}

/// Where the integrand is asked for, in f64.
template <class T>
T quadrature_places() {
  return T::from(quadrature().places, {Quadrature::count});
}
template <class T>
T quadrature_weights() {
  return T::from(quadrature().weights, {Quadrature::count});
}

}  // namespace tyto::core
