// SPDX-License-Identifier: MIT
// LU with partial pivoting and Cholesky, recursively by halves: all but narrow strips of the work is in products.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "devices/cpu/linalg/factorisations.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Strips so narrow are factorised column by column.
constexpr std::int64_t narrow = 8;
constexpr std::int64_t small = 16;

/// Where half of the columns ends: a multiple of what the tiles like.
std::int64_t half_of(std::int64_t size) noexcept { return (size / 2 + narrow - 1) / narrow * narrow; }

/// As factorise_columns, of a strip: with columns that lie one after the other in the workspace for products meanwhile,
/// since all that is done to it runs down columns.
template <class T>
std::int64_t factorise_strip(const KernelContext<T>& context, const Matrix<T>& a, std::int64_t begin, std::int64_t end,
                             std::int64_t* pivots) noexcept {
  const std::int64_t height = a.rows - begin, width = end - begin;
  const auto column_of = [&](std::int64_t column) { return context.packed + column * height; };
  for (std::int64_t row = 0; row < height; ++row) {
    const T* from = a.row(begin + row) + begin;
    for (std::int64_t column = 0; column < width; ++column) column_of(column)[row] = from[column];
  }
  std::int64_t zero = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    T* here = column_of(k);
    const std::int64_t pivot = k + context.loops->largest(height - k, here + k), below = height - k - 1;
    pivots[begin + k] = begin + pivot;
    if (pivot != k) {
      std::swap_ranges(a.row(begin + k), a.row(begin + k) + a.columns, a.row(begin + pivot));
      for (std::int64_t column = 0; column < width; ++column) std::swap(column_of(column)[k], column_of(column)[pivot]);
    }
    if (here[k] == 0) {
      if (zero == 0) zero = begin + k + 1;
      continue;
    }
    // The reciprocal of a number below the smallest normal one is infinite.
    if (std::abs(here[k]) >= std::numeric_limits<T>::min()) {
      const T inverse = T(1) / here[k];
      for (std::int64_t row = k + 1; row < height; ++row) here[row] *= inverse;
    } else {
      for (std::int64_t row = k + 1; row < height; ++row) here[row] /= here[k];
    }
    for (std::int64_t column = k + 1; column < width; ++column) {
      T* other = column_of(column);
      context.loops->add_scaled(below, -other[k], here + k + 1, other + k + 1);
    }
  }
  for (std::int64_t row = 0; row < height; ++row) {
    T* to = a.row(begin + row) + begin;
    for (std::int64_t column = 0; column < width; ++column) to[column] = column_of(column)[row];
  }
  return zero;
}

/// The columns [begin, end) of a, from row `begin` on; exchanges whole rows of a.
template <class T>
std::int64_t factorise_columns(const KernelContext<T>& context, const Matrix<T>& a, std::int64_t begin,
                               std::int64_t end, std::int64_t* pivots) noexcept {
  if (end - begin > narrow) {
    const std::int64_t middle = begin + half_of(end - begin);
    const std::int64_t left = factorise_columns(context, a, begin, middle, pivots);
    if (middle >= a.rows) return left;
    const auto top = a.part(begin, middle, middle - begin, end - middle);
    solve_triangular<T>(context, a.part(begin, begin, middle - begin, middle - begin), Triangle::lower, true, top);
    add_product<T>(context, a.part(middle, begin, a.rows - middle, middle - begin), top,
                   a.part(middle, middle, a.rows - middle, end - middle), Sign::minus);
    const std::int64_t right = factorise_columns(context, a, middle, end, pivots);
    return left != 0 ? left : right;
  }
  return factorise_strip(context, a, begin, end, pivots);
}

template <class T>
std::int64_t factorise_block(const Matrix<T>& a) noexcept {
  for (std::int64_t column = 0; column < a.rows; ++column) {
    T* head = a.row(column);
    T rest = head[column];
    for (std::int64_t k = 0; k < column; ++k) rest -= head[k] * head[k];
    if (!(rest > 0)) return column + 1;  // NaN neither
    head[column] = std::sqrt(rest);
    const T inverse = 1 / head[column];
    for (std::int64_t row = column + 1; row < a.rows; ++row) {
      T* here = a.row(row);
      T value = here[column];
      for (std::int64_t k = 0; k < column; ++k) value -= here[k] * head[k];
      here[column] = value * inverse;
    }
  }
  return 0;
}

}  // namespace

std::int64_t lu_width(std::int64_t rows, std::int64_t columns) noexcept {
  return std::max(columns, (rows * narrow + packed_depth - 1) / packed_depth);
}

template <class T>
std::int64_t factorise_lu(const KernelContext<T>& context, Matrix<T> a, std::int64_t* pivots) noexcept {
  const std::int64_t square = std::min(a.rows, a.columns);
  const std::int64_t zero = factorise_columns(context, a, 0, square, pivots);
  if (a.columns > square) {
    solve_triangular<T>(context, a.part(0, 0, square, square), Triangle::lower, true,
                        a.part(0, square, square, a.columns - square));
  }
  return zero;
}

void permutation_of(const std::int64_t* pivots, std::int64_t exchanges, std::int64_t* permutation,
                    std::int64_t rows) noexcept {
  for (std::int64_t i = 0; i < rows; ++i) permutation[i] = i;
  for (std::int64_t i = 0; i < exchanges; ++i) std::swap(permutation[i], permutation[pivots[i]]);
}

template <class T>
std::int64_t factorise_cholesky(const KernelContext<T>& context, Matrix<T> a) noexcept {
  if (a.rows <= small) return factorise_block(a);
  const std::int64_t half = half_of(a.rows), rest = a.rows - half;
  const auto first = a.part(0, 0, half, half), below = a.part(half, 0, rest, half);
  const auto last = a.part(half, half, rest, rest);
  if (const std::int64_t bad = factorise_cholesky(context, first)) return bad;
  solve_upper_right<T>(context, first.transposed(), below);
  add_product_below<T>(context, below, below.transposed(), last, Sign::minus);
  const std::int64_t bad = factorise_cholesky(context, last);
  return bad == 0 ? 0 : half + bad;
}

#define TYTO_INSTANTIATE(T)                                                                          \
  template std::int64_t factorise_lu<T>(const KernelContext<T>&, Matrix<T>, std::int64_t*) noexcept; \
  template std::int64_t factorise_cholesky<T>(const KernelContext<T>&, Matrix<T>) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
