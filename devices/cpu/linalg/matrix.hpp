// SPDX-License-Identifier: MIT
// Strided matrices, and the kernel context that every factorisation works with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/linalg/vector_loops.hpp"
#include "devices/cpu/products/tile/tile.hpp"

namespace tyto::cpu::linalg {

/// A matrix somewhere in memory; strides count elements.
template <class T>
struct Matrix {
  T* first = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  T& operator()(std::int64_t row, std::int64_t column) const noexcept {
    return first[row * row_step + column * column_step];
  }
  T* row(std::int64_t index) const noexcept { return first + index * row_step; }
  Matrix part(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width) const noexcept {
    return {first + row * row_step + column * column_step, height, width, row_step, column_step};
  }
  Matrix transposed() const noexcept { return {first, columns, rows, column_step, row_step}; }
  operator Matrix<const T>() const noexcept { return {first, rows, columns, row_step, column_step}; }
};

/// A row-major matrix without gaps.
template <class T>
Matrix<T> dense(T* first, std::int64_t rows, std::int64_t columns) noexcept {
  return {first, rows, columns, columns, 1};
}

/// Ones on the diagonal, zeros elsewhere.
template <class T>
void set_identity(const Matrix<T>& a) noexcept {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t column = 0; column < a.columns; ++column) a(row, column) = row == column ? T(1) : T(0);
  }
}

template <class T>
bool is_identity(const Matrix<T>& a) noexcept {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t column = 0; column < a.columns; ++column) {
      if (a(row, column) != (row == column ? T(1) : T(0))) return false;
    }
  }
  return true;
}

/// Loops and tiles that a kernel multiplies with, the threads that it may use, and workspace for packed operands.
template <class T>
struct KernelContext {
  const VectorLoops<T>* loops = nullptr;
  const TileSet<T>* tiles = nullptr;
  int threads = 1;
  T* packed = nullptr;
};

/// Steps of the inner dimension that are packed at a time: panels of them stay in the first or second cache.
inline constexpr std::int64_t packed_depth = 256;

/// Bytes of workspace that products with up to so many columns need in KernelContext::packed.
template <class T>
std::size_t packed_bytes(const TileSet<T>& tiles, std::int64_t columns) noexcept;

enum class Sign { plus, minus };

/// c += a b, or c -= a b. Rows of c are contiguous; it overlaps neither operand.
template <class T>
void add_product(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> a,
                 Matrix<const std::type_identity_t<T>> b, Matrix<T> c, Sign sign = Sign::plus) noexcept;

/// The lower triangle of c += or -= a b; some elements above it may be changed too.
template <class T>
void add_product_below(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> a,
                       Matrix<const std::type_identity_t<T>> b, Matrix<T> c, Sign sign) noexcept;

/// Which triangle of a square matrix is read.
enum class Triangle { lower, upper };

/// b becomes t^-1 b. Rows of b are contiguous. A zero on the diagonal gives infinities and NaN.
template <class T>
void solve_triangular(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> t, Triangle triangle,
                      bool unit, Matrix<T> b) noexcept;

/// b becomes b t^-1 for an upper triangle. Rows of b are contiguous.
template <class T>
void solve_upper_right(const KernelContext<T>& context, Matrix<const std::type_identity_t<T>> t, Matrix<T> b) noexcept;

}  // namespace tyto::cpu::linalg
