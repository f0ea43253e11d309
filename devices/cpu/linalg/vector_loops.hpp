// SPDX-License-Identifier: MIT
// The loops over rows that factorisations spend their time in outside of matrix products.
#pragma once

#include <cstdint>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::linalg {

/// Sweeps of plane rotations that VectorLoops::rotate applies in one pass over the rows. Rotation i of a sweep makes
/// c * row i + s * row i+1 and c * row i+1 - s * row i of rows i and i+1. While the first sweep is at rows i and i+1,
/// the next one follows at i-1 and i, and so on: row i of the table holds c and s of rotation i of the first sweep, of
/// rotation i-1 of the second, and so on, and the identity (1, 0) where a sweep has no rotation.
inline constexpr int sweeps_at_once = 4;
/// Elements of a row of the table. The table reaches `sweeps_at_once` rows further than the matrix.
inline constexpr int rotation_row = 2 * sweeps_at_once;

/// A plane rotation of complex numbers: cosine real, sine complex.
template <class T>
struct ComplexTurn {
  T cosine = 1, sine_re = 0, sine_im = 0;
};

/// A reflection of three rows or columns from `first` on: x becomes x - factor * v (v . x).
template <class T>
struct TripleReflection {
  std::int64_t first = 0;
  T v[3] = {};
  T factor = 0;
};

/// Rows that rotate_columns takes through all turns together.
inline constexpr int rows_at_once = 8;
/// Rows that reflect_columns takes through all reflections together.
inline constexpr int reflected_together = 16;

/// Triangles so small are solved without products.
inline constexpr int small_triangle = 16;

/// Rows are contiguous; `step` is the number of elements from one row of a matrix to the next.
template <class T>
struct VectorLoops {
  /// y += a * x
  void (*add_scaled)(std::int64_t count, T a, const T* x, T* y) = nullptr;
  /// The first place of the largest |x|; 0 where x[0] is NaN, and no place of a NaN but for that.
  std::int64_t (*largest)(std::int64_t count, const T* x) = nullptr;
  /// The sum of x * y.
  T (*dot)(std::int64_t count, const T* x, const T* y) = nullptr;
  /// y[r] = the sum of row r * x
  void (*multiply)(std::int64_t rows, std::int64_t columns, const T* matrix, std::int64_t step, const T* x,
                   T* y) = nullptr;
  /// y += the sum over r of x[r] * row r
  void (*add_rows)(std::int64_t rows, std::int64_t columns, const T* matrix, std::int64_t step, const T* x,
                   T* y) = nullptr;
  /// row r += x[r] * y
  void (*add_outer)(std::int64_t rows, std::int64_t columns, const T* x, const T* y, T* matrix,
                    std::int64_t step) = nullptr;
  /// b becomes b U^-1 for an upper triangle of at most small_triangle columns: `inverses` of its diagonal, and in
  /// `triangle`, small_triangle elements a row, what is right of it, zeros elsewhere.
  void (*solve_right)(std::int64_t rows, std::int64_t columns, const T* triangle, const T* inverses, T* b,
                      std::int64_t step) = nullptr;
  /// y = S x for a symmetric matrix of which the lower triangle is read, once.
  void (*multiply_symmetric)(std::int64_t size, const T* matrix, std::int64_t step, const T* x, T* y) = nullptr;
  /// Some sweeps of rotations, one after the other: see below.
  void (*rotate)(std::int64_t first, std::int64_t last, std::int64_t columns, const T* table, T* matrix,
                 std::int64_t step) = nullptr;
  /// Reflections of rows of a matrix, one after the other.
  void (*reflect_rows)(std::int64_t count, const TripleReflection<T>* list, std::int64_t columns, T* matrix,
                       std::int64_t step) = nullptr;
  /// The same of columns from `begin` to before `end`, within which all reflections lie. Needs reflected_together times
  /// as many elements of workspace.
  void (*reflect_columns)(std::int64_t count, const TripleReflection<T>* list, std::int64_t rows, std::int64_t begin,
                          std::int64_t end, T* matrix, std::int64_t step, T* workspace) = nullptr;
  /// Complex rows, parts apart: x becomes c x + s y and y becomes c y - conj(s) x, c being real.
  void (*rotate_complex)(std::int64_t count, const ComplexTurn<T>& turn, T* x_re, T* x_im, T* y_re, T* y_im) = nullptr;
  /// The same of columns i and i+1 with turns[i] conjugated, for i from `first` to before `last`, one after the other,
  /// in rows from `top` to before `bottom` of an upper triangle: row r has nothing to turn left of column r-1. Needs
  /// `rows_at_once` times the columns of workspace, twice.
  void (*rotate_columns)(std::int64_t top, std::int64_t bottom, std::int64_t first, std::int64_t last,
                         const ComplexTurn<T>* turns, T* re, T* im, std::int64_t step, T* workspace) = nullptr;
};

/// The loops for an instruction set.
template <class T>
const VectorLoops<T>& vector_loops(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(template <class T> const VectorLoops<T>& vector_loops() noexcept;)

}  // namespace tyto::cpu::linalg
