// SPDX-License-Identifier: MIT
// Householder reflections: the vectors as LAPACK defines them, the blocks in the compact WY form of Schreiber and
// Van Loan.
#include "devices/cpu/linalg/reflections.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "devices/cpu/linalg/factorisations.hpp"

namespace tyto::cpu::linalg {

template <class T>
T length_of(const T* x, std::int64_t step, std::int64_t count) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(x[i * step]);
    sum += value * value;
  }
  // Squares of f32 fit into a double; those of doubles may be too large or lose digits by being too small.
  constexpr double safe = 1e-280;
  if (std::is_same_v<T, double> && !(sum > safe && sum < 1 / safe)) {
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(static_cast<double>(x[i * step])));
    if (largest == 0 || !std::isfinite(largest)) return static_cast<T>(std::sqrt(sum));
    sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(x[i * step]) / largest;
      sum += value * value;
    }
    return static_cast<T>(largest * std::sqrt(sum));
  }
  return static_cast<T>(std::sqrt(sum));
}

template <class T>
T reflect(T* x, std::int64_t step, std::int64_t count, std::int64_t head) noexcept {
  // The head is the first or the last element: what is left of the others is one run.
  T* rest = head == 0 ? x + step : x;
  const T length = length_of<T>(rest, step, count - 1);
  if (length == 0) return 0;
  T& alpha = x[head * step];
  // Numbers near the smallest have few digits: what comes of them would be no reflection.
  constexpr T small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (length < small && std::abs(alpha) < small) {
    for (std::int64_t i = 0; i < count; ++i) x[i * step] *= 1 / small;
    const T factor = reflect(x, step, count, head);
    alpha *= small;
    return factor;
  }
  const T beta = -std::copysign(static_cast<T>(std::hypot(alpha, length)), alpha);
  const T divisor = alpha - beta;
  const T factor = (beta - alpha) / beta;
  if (std::abs(divisor) >= std::numeric_limits<T>::min()) {
    const T inverse = T(1) / divisor;
    for (std::int64_t i = 0; i + 1 < count; ++i) rest[i * step] *= inverse;
  } else {
    for (std::int64_t i = 0; i + 1 < count; ++i) rest[i * step] /= divisor;
  }
  alpha = beta;
  return factor;
}

std::int64_t block_workspace(std::int64_t width) noexcept {
  return reflection_block * reflection_block + 2 * reflection_block * width;
}

template <class T>
void join(const KernelContext<T>& context, const ReflectionBlock<T>& block, const T* factors) noexcept {
  const Matrix<T>& t = block.triangle;
  for (std::int64_t row = 0; row < t.rows; ++row) std::fill_n(t.row(row), t.columns, T(0));
  add_product<T>(context, block.vectors, block.vectors.transposed(), t);
  // Column j holds u_i . u_j above the diagonal; T's column is -factor_j T (U^T u_j).
  for (std::int64_t j = 0; j < t.columns; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (std::int64_t k = i; k < j; ++k) sum += t(i, k) * t(k, j);
      t(i, j) = -factors[j] * sum;
    }
    t(j, j) = factors[j];
    for (std::int64_t i = j + 1; i < t.rows; ++i) t(i, j) = 0;
  }
}

template <class T>
void apply(const KernelContext<T>& context, const ReflectionBlock<T>& block, bool transposed, Matrix<T> c,
           T* workspace) noexcept {
  if (c.columns == 0) return;
  const auto shares = dense(workspace, block.count(), c.columns);
  const auto turned = dense(workspace + block.count() * c.columns, block.count(), c.columns);
  std::fill_n(workspace, 2 * block.count() * c.columns, T(0));
  add_product<T>(context, block.vectors, c, shares);
  add_product<T>(context, transposed ? block.triangle.transposed() : block.triangle, shares, turned);
  add_product<T>(context, block.vectors.transposed(), turned, c, Sign::minus);
}

template <class T>
void apply_right(const KernelContext<T>& context, const ReflectionBlock<T>& block, bool transposed, Matrix<T> c,
                 T* workspace) noexcept {
  const auto shares = dense(workspace, c.rows, block.count());
  const auto turned = dense(workspace + block.count() * c.rows, c.rows, block.count());
  std::fill_n(workspace, 2 * block.count() * c.rows, T(0));
  add_product<T>(context, c, block.vectors.transposed(), shares);
  add_product<T>(context, shares, transposed ? block.triangle.transposed() : block.triangle, turned);
  add_product<T>(context, turned, block.vectors, c, Sign::minus);
}

#define TYTO_INSTANTIATE(T)                                                                                 \
  template T length_of<T>(const T*, std::int64_t, std::int64_t) noexcept;                                   \
  template T reflect<T>(T*, std::int64_t, std::int64_t, std::int64_t) noexcept;                             \
  template void join<T>(const KernelContext<T>&, const ReflectionBlock<T>&, const T*) noexcept;             \
  template void apply<T>(const KernelContext<T>&, const ReflectionBlock<T>&, bool, Matrix<T>, T*) noexcept; \
  template void apply_right<T>(const KernelContext<T>&, const ReflectionBlock<T>&, bool, Matrix<T>, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
