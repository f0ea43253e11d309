// SPDX-License-Identifier: MIT
// Balancing of general matrices before their eigenvalues are sought, as LAPACK's gebal: rows and columns are exchanged
// until those that have an eigenvalue of their own stand at the ends, and the others are scaled.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "devices/cpu/linalg/complex_parts.hpp"

namespace tyto::cpu::linalg {

/// A balanced matrix is D^-1 P^T a P D. factors[i] is that of column i of D, order[i] the row of `a` that is row i now.
template <class T>
struct Balance {
  T* factors;
  T* order;
};

/// The operations of balancing on a real matrix, which is one part, and on a complex one, which is two.
template <class T, std::size_t parts>
class BalancedElements {
 public:
  template <class... Part>
  explicit BalancedElements(const Part&... part) : parts_{part...} {}

  Index size() const noexcept { return parts_[0].rows; }
  double square(Index row, Index column) const noexcept {
    double sum = 0;
    for (const Matrix<T>& part : parts_) {
      const auto element = static_cast<double>(part(row, column));
      sum += element * element;
    }
    return sum;
  }
  bool is_zero(Index row, Index column) const noexcept {
    bool zero = true;
    for (const Matrix<T>& part : parts_) zero = zero && part(row, column) == 0;
    return zero;
  }
  void exchange(Index i, Index k) const noexcept {
    for (const Matrix<T>& part : parts_) {
      for (Index j = 0; j < size(); ++j) std::swap(part(i, j), part(k, j));
      for (Index j = 0; j < size(); ++j) std::swap(part(j, i), part(j, k));
    }
  }
  void scale(Index i, T factor) const noexcept {
    for (const Matrix<T>& part : parts_) {
      for (Index j = 0; j < size(); ++j) {
        part(i, j) /= factor;
        part(j, i) *= factor;
      }
    }
  }

 private:
  Matrix<T> parts_[parts];
};

/// Exchanges rows and columns so that the matrix is a triangle outside of [begin, end), which is returned.
template <class T, class Elements>
std::pair<Index, Index> isolate_eigenvalues(const Elements& a, T* order) noexcept {
  Index begin = 0, end = a.size();
  for (Index i = 0; i < end; ++i) order[i] = static_cast<T>(i);
  const auto is_alone = [&](Index i, bool in_row) {
    for (Index j = begin; j < end; ++j) {
      if (j != i && !(in_row ? a.is_zero(i, j) : a.is_zero(j, i))) return false;
    }
    return true;
  };
  const auto move = [&](Index from, Index to) {
    if (from == to) return;
    a.exchange(from, to);
    std::swap(order[from], order[to]);
  };
  for (Index i = end; i-- > begin;) {
    if (!is_alone(i, true)) continue;
    move(i, --end);
    i = end;  // another row may be alone by now
  }
  for (Index i = begin; i < end; ++i) {
    if (!is_alone(i, false)) continue;
    move(i, begin++);
    i = begin - 1;
  }
  return {begin, end};
}

/// Rows and columns scaled by powers of two until they are about as long as each other, their diagonal elements
/// included, without which scaling may cost digits (James, Langou and Lowery, On matrix balancing and eigenvector
/// computation, 2014). No factor leaves the range in which its reciprocal has all its digits.
template <class T, class Elements>
void balance(const Elements& a, const Balance<T>& to) noexcept {
  using Limits = std::numeric_limits<T>;
  const T largest = std::ldexp(T(1), Limits::max_exponent - Limits::digits), smallest = 1 / largest;
  T* const factors = to.factors;
  std::fill_n(factors, a.size(), T(1));
  const auto [begin, end] = isolate_eigenvalues(a, to.order);
  for (bool changed = true; changed;) {
    changed = false;
    for (Index i = begin; i < end; ++i) {
      double row = 0, column = 0;
      for (Index j = begin; j < end; ++j) {
        row += a.square(i, j);
        column += a.square(j, i);
      }
      if (row == 0 || column == 0 || !std::isfinite(row) || !std::isfinite(column)) continue;
      row = std::sqrt(row);
      column = std::sqrt(column);
      const double before = row + column;
      T factor = 1;
      for (; column < row / 2 && factors[i] * factor < largest; column *= 4) factor *= 2;
      for (; column >= row * 2 && factors[i] * factor > smallest; column /= 4) factor /= 2;
      if ((column + row) / static_cast<double>(factor) >= 0.95 * before) continue;
      changed = true;
      factors[i] *= factor;
      a.scale(i, factor);
    }
  }
}

/// Rows of v, eigenvectors of a balanced matrix, become those of the matrix, as long as one and with their largest
/// element real. `workspace` is for two rows.
template <class T>
void unbalance_rows(const Parts<T>& v, const Balance<T>& balance, T* workspace) noexcept {
  const Index n = v.re.columns;
  T* const re = workspace;
  T* const im = workspace + n;
  for (Index k = 0; k < v.re.rows; ++k) {
    for (Index i = 0; i < n; ++i) {
      const auto place = static_cast<Index>(balance.order[i]);
      re[place] = v.re(k, i) * balance.factors[i];
      im[place] = v.im(k, i) * balance.factors[i];
    }
    std::copy_n(re, n, v.re.row(k));
    std::copy_n(im, n, v.im.row(k));
  }
  normalise_rows(v);
}

}  // namespace tyto::cpu::linalg
