// SPDX-License-Identifier: MIT
// Shared by the kernels: Eigen's matrices over the memory that they are given, and Schur forms.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "numerics/eigen/kernels.hpp"

namespace tyto::eigen_kernels {

using Complex = std::complex<double>;
using Index = Eigen::Index;

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Eigen::Map<const Dense<T>> view(const Matrix<const T>& m) {
  return {m.data, m.rows, m.columns};
}
template <class T>
Eigen::Map<Dense<T>> view(const Matrix<T>& m) {
  return {m.data, m.rows, m.columns};
}

inline constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// A power of two by which the largest element of a matrix becomes about one, so that squares neither overflow nor
/// vanish in iterations.
template <class T>
double scale_of(const Dense<T>& m) {
  const double largest = m.size() == 0 ? 0 : m.cwiseAbs().maxCoeff();
  return largest == 0 || !std::isfinite(largest) ? 1 : std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1022, 1022));
}

/// The matrix times 2^exponent, in two steps: what the result holds does not get lost on the way.
template <class T>
Dense<T> times_power(const Dense<T>& m, int exponent) {
  return m * std::ldexp(1.0, exponent / 2) * std::ldexp(1.0, exponent - exponent / 2);
}

/// The Schur form of a complex matrix: a = u t u^H.
struct ComplexSchur {
  explicit ComplexSchur(const Dense<Complex>& a) {
    if (a.size() == 0) return;
    const double scale = scale_of(a);
    const Eigen::ComplexSchur<Dense<Complex>> found(a * scale);
    converged = found.info() == Eigen::Success;
    if (!converged) return;
    t = found.matrixT().template triangularView<Eigen::Upper>();
    t *= 1 / scale;  // a division would be one by a complex number, whose square is infinite or 0
    u = found.matrixU();
  }
  bool converged = true;
  Dense<Complex> t, u;
};

}  // namespace tyto::eigen_kernels
