// SPDX-License-Identifier: MIT
// Factors of symmetric and Hermitian matrices that need not be definite: l d l^H with blocks of one and two rows in d.
#ifdef TYTO_HAVE_EIGEN

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "numerics/eigen/matrices.hpp"

namespace tyto::eigen_kernels {

namespace {

/// Bunch and Kaufman (1977), as LAPACK's sytf2; l has its rows in the order of a, so that it is no triangle.
template <class T, bool hermitian>
bool factorise(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  Dense<T> a = view(in[0]).template triangularView<Eigen::Lower>();
  if (!a.allFinite()) return false;
  const double scale = scale_of(a);
  a *= scale;
  const auto turned = [](const auto& x) -> Dense<T> {
    if constexpr (hermitian) {
      return x.adjoint();
    } else {
      return x.transpose();
    }
  };
  const Index n = a.rows();
  if constexpr (hermitian) a.diagonal() = a.diagonal().real().template cast<T>().eval();
  a += turned(Dense<T>(a.template triangularView<Eigen::StrictlyLower>()));
  Dense<T> l = Dense<T>::Identity(n, n), d = Dense<T>::Zero(n, n);
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index(0));
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  for (Index k = 0, size = 1; k < n; k += size) {
    size = 1;
    Index pivot = k, row = k;
    const double here = std::abs(a(k, k));
    double below = 0;
    if (k + 1 < n) {
      below = a.col(k).tail(n - k - 1).cwiseAbs().maxCoeff(&row);
      row += k + 1;
    }
    if (below > 0 && here < alpha * below) {
      double beside = 0;
      for (Index j = k; j < n; ++j) {
        if (j != row) beside = std::max(beside, std::abs(a(row, j)));
      }
      if (here * beside >= alpha * below * below) {
        pivot = k;
      } else if (std::abs(a(row, row)) >= alpha * beside) {
        pivot = row;
      } else {
        pivot = row;
        size = 2;
      }
    }
    const Index first = k + size - 1;
    if (pivot != first) {
      a.row(first).swap(a.row(pivot));
      a.col(first).swap(a.col(pivot));
      l.row(first).head(k).swap(l.row(pivot).head(k));
      std::swap(order[static_cast<std::size_t>(first)], order[static_cast<std::size_t>(pivot)]);
    }
    const Index rest = n - k - size;
    d.block(k, k, size, size) = a.block(k, k, size, size);
    if (rest == 0 || (size == 1 && a(k, k) == T(0))) continue;
    const Dense<T> column = a.block(k + size, k, rest, size);
    const Dense<T> block = a.block(k, k, size, size);
    const Dense<T> factor = size == 1 ? Dense<T>(column / block(0, 0)) : Dense<T>(column * block.inverse());
    l.block(k + size, k, rest, size) = factor;
    a.bottomRightCorner(rest, rest) -= factor * turned(column);
  }
  auto lower = view(out[0]);
  auto permutation = view(out[2]);
  for (Index i = 0; i < n; ++i) {
    const Index from = order[static_cast<std::size_t>(i)];
    lower.row(from) = l.row(i);
    permutation(0, i) = T(static_cast<double>(from));  // l[permutation] is a triangle
  }
  view(out[1]) = d / scale;
  return true;
}

}  // namespace

Kernels ldl() { return {factorise<double, true>, factorise<Complex, true>}; }
Kernels symmetric_ldl() { return {factorise<double, false>, factorise<Complex, false>}; }

}  // namespace tyto::eigen_kernels

#endif
