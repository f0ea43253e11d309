// SPDX-License-Identifier: MIT
// Kernels by Eigen on one matrix, or a few of them: column-major matrices in, column-major matrices out.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

namespace tyto::eigen_kernels {

/// A matrix by columns, without gaps.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

/// The function of an operator: reads its operands, fills its results. False where there is no result, which becomes
/// NaN: elements that are not finite, an iteration that does not converge, an equation that has no solution.
template <class T>
using Kernel = bool (*)(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out);

/// A kernel for either kind of numbers; null in a build without Eigen.
struct Kernels {
  Kernel<double> real = nullptr;
  Kernel<std::complex<double>> complex = nullptr;
};

Kernels schur();          // a -> t, z
Kernels hess();           // a -> h, q
Kernels qz();             // a, b -> s, t, q, z
Kernels ordschur();       // select as a row, t, z -> t, z
Kernels ordqz();          // select as a row, s, t, q, z -> s, t, q, z
Kernels ldl();            // a, of which the lower triangle is read -> l, d, permutation as a row
Kernels symmetric_ldl();  // the same without conjugates
Kernels sqrtm();          // a -> its principal square root
Kernels logm();           // a -> its principal logarithm
Kernels sylvester();      // a, b, c -> x with a x + x b = c
Kernels stein();          // a, b, c -> x with x - a x b = c

}  // namespace tyto::eigen_kernels
