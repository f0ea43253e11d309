// The loops over rows that factorisations spend their time in outside of matrix products.
#pragma once

#include <cstdint>

#include "devices/cpu/instruction_set.hpp"

namespace tyto::cpu::linalg {

/// Rows are contiguous; `step` is the number of elements from one row of a matrix to the next.
template <class T>
struct VectorLoops {
  /// y += a * x
  void (*add_scaled)(std::int64_t count, T a, const T* x, T* y) = nullptr;
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
  /// y = S x for a symmetric matrix of which the lower triangle is read, once.
  void (*multiply_symmetric)(std::int64_t size, const T* matrix, std::int64_t step, const T* x, T* y) = nullptr;
  /// For i = 0, 1, ..: rows i and i + 1 become c[i] * row i + s[i] * row i+1 and c[i] * row i+1 - s[i] * row i.
  void (*rotate_down)(std::int64_t rotations, std::int64_t columns, const T* c, const T* s, T* matrix,
                      std::int64_t step) = nullptr;
};

/// The loops for a set; those of the baseline where the build lacks it.
template <class T>
const VectorLoops<T>& vector_loops(InstructionSet set) noexcept;

namespace baseline {
const VectorLoops<float>& vector_loops_f32() noexcept;
const VectorLoops<double>& vector_loops_f64() noexcept;
}  // namespace baseline
namespace avx2 {
const VectorLoops<float>& vector_loops_f32() noexcept;
const VectorLoops<double>& vector_loops_f64() noexcept;
}  // namespace avx2
namespace avx512 {
const VectorLoops<float>& vector_loops_f32() noexcept;
const VectorLoops<double>& vector_loops_f64() noexcept;
}  // namespace avx512

}  // namespace tyto::cpu::linalg
