// LU with partial pivoting and Cholesky, by halves: all but narrow strips of the work is in products.
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

/// The columns [begin, end) of a, from row `begin` on; exchanges whole rows of a.
template <class T>
std::int64_t factorise_columns(const Bench<T>& bench, const Matrix<T>& a, std::int64_t begin, std::int64_t end,
                               std::int64_t* pivots) noexcept {
  if (end - begin > narrow) {
    const std::int64_t middle = begin + half_of(end - begin);
    const std::int64_t left = factorise_columns(bench, a, begin, middle, pivots);
    if (middle >= a.rows) return left;
    const auto top = a.part(begin, middle, middle - begin, end - middle);
    solve_triangular<T>(bench, a.part(begin, begin, middle - begin, middle - begin), Triangle::lower, true, top);
    add_product<T>(bench, a.part(middle, begin, a.rows - middle, middle - begin), top,
                   a.part(middle, middle, a.rows - middle, end - middle), Sign::minus);
    const std::int64_t right = factorise_columns(bench, a, middle, end, pivots);
    return left != 0 ? left : right;
  }
  std::int64_t zero = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    std::int64_t pivot = k;
    T largest = std::abs(a(k, k));
    for (std::int64_t row = k + 1; row < a.rows; ++row) {
      const T size = std::abs(a(row, k));
      if (size > largest) {
        largest = size;
        pivot = row;
      }
    }
    pivots[k] = pivot;
    if (pivot != k) std::swap_ranges(a.row(k), a.row(k) + a.columns, a.row(pivot));
    const T* head = a.row(k);
    if (head[k] == 0) {
      if (zero == 0) zero = k + 1;
      continue;
    }
    // The reciprocal of a number below the smallest normal one is infinite.
    const bool reciprocal = largest >= std::numeric_limits<T>::min();
    const T inverse = T(1) / head[k];
    for (std::int64_t row = k + 1; row < a.rows; ++row) {
      T* here = a.row(row);
      const T factor = here[k] = reciprocal ? here[k] * inverse : here[k] / head[k];
      for (std::int64_t column = k + 1; column < end; ++column) here[column] -= factor * head[column];
    }
  }
  return zero;
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

template <class T>
std::int64_t factorise_lu(const Bench<T>& bench, Matrix<T> a, std::int64_t* pivots) noexcept {
  const std::int64_t square = std::min(a.rows, a.columns);
  const std::int64_t zero = factorise_columns(bench, a, 0, square, pivots);
  if (a.columns > square) {
    solve_triangular<T>(bench, a.part(0, 0, square, square), Triangle::lower, true,
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
std::int64_t factorise_cholesky(const Bench<T>& bench, Matrix<T> a) noexcept {
  if (a.rows <= small) return factorise_block(a);
  const std::int64_t half = half_of(a.rows), rest = a.rows - half;
  const auto first = a.part(0, 0, half, half), below = a.part(half, 0, rest, half);
  const auto last = a.part(half, half, rest, rest);
  if (const std::int64_t bad = factorise_cholesky(bench, first)) return bad;
  solve_triangular_right<T>(bench, first.transposed(), Triangle::upper, false, below);
  add_product_below<T>(bench, below, below.transposed(), last, Sign::minus);
  const std::int64_t bad = factorise_cholesky(bench, last);
  return bad == 0 ? 0 : half + bad;
}

#define TYTO_INSTANTIATE(T)                                                                  \
  template std::int64_t factorise_lu<T>(const Bench<T>&, Matrix<T>, std::int64_t*) noexcept; \
  template std::int64_t factorise_cholesky<T>(const Bench<T>&, Matrix<T>) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
