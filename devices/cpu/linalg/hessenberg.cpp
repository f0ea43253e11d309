// SPDX-License-Identifier: MIT
// Reduction of general matrices to Hessenberg form by blocks of reflections, as LAPACK's gehrd (Quintana-Orti and van
// de Geijn, Improving the performance of reduction to Hessenberg form, 2006).
#include <algorithm>

#include "devices/cpu/linalg/real_general.hpp"
#include "devices/cpu/linalg/reflections.hpp"

namespace tyto::cpu::linalg {

namespace {

/// The data of a block of columns: V as rows, T, and y = a V T as rows.
template <class T>
struct Panel {
  ReflectionBlock<T> block;
  Matrix<T> y;
};

// Columns [first, first + count). Element 0 of a vector stands for row first + 1. The columns behind are left as they
// are, and so are rows up to `first`, which no vector of the block depends on.
template <class T>
void reduce_panel(const VectorLoops<T>& loops, const Matrix<T>& a, std::int64_t first, const Panel<T>& panel,
                  T* workspace) noexcept {
  const auto& [block, y] = panel;
  const Matrix<T>& v = block.vectors;
  const Matrix<T>& t = block.triangle;
  const std::int64_t height = a.rows - first - 1, count = block.count();
  T* const column = workspace;
  T* const shares = column + height;
  T* const turned = shares + count;
  bool turns = false;  // a matrix that is of this form already has no reflection
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t here = first + i;
    for (std::int64_t r = 0; r < height; ++r) column[r] = a(first + 1 + r, here);
    if (turns) {
      // a (1 - V T V^T) in this column, then (1 - V T^T V^T) from the left.
      for (std::int64_t j = 0; j < i; ++j) shares[j] = -v(j, i - 1);
      loops.add_rows(i, height, y.first, y.row_step, shares, column);
      loops.multiply(i, height, v.first, v.row_step, column, shares);
      for (std::int64_t j = 0; j < i; ++j) {
        T sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += t(k, j) * shares[k];
        turned[j] = -sum;
      }
      loops.add_rows(i, height, v.first, v.row_step, turned, column);
    }
    const T factor = reflect(column + i, 1, height - i, 0);
    for (std::int64_t r = 0; r < height; ++r) a(first + 1 + r, here) = r <= i ? column[r] : T(0);
    T* const vector = v.row(i);
    std::fill_n(vector, i, T(0));
    std::copy_n(column + i, height - i, vector + i);
    if (factor == 0) std::fill_n(vector + i, height - i, T(0));
    vector[i] = 1;
    std::fill_n(t.row(i), count, T(0));
    t(i, i) = factor;
    if (factor == 0) {
      for (std::int64_t j = 0; j < i; ++j) t(j, i) = 0;
      std::fill_n(y.row(i), height, T(0));
      continue;
    }
    turns = true;
    loops.multiply(height, height - i, a.row(first + 1) + here + 1, a.row_step, vector + i, y.row(i));
    loops.multiply(i, height - i, v.first + i, v.row_step, vector + i, shares);
    for (std::int64_t j = 0; j < i; ++j) turned[j] = -shares[j];
    loops.add_rows(i, height, y.first, y.row_step, turned, y.row(i));
    for (std::int64_t r = 0; r < height; ++r) y(i, r) *= factor;
    for (std::int64_t j = 0; j < i; ++j) {
      T sum = 0;
      for (std::int64_t k = j; k < i; ++k) sum += t(j, k) * shares[k];
      t(j, i) = -factor * sum;
    }
  }
}

}  // namespace

std::int64_t hessenberg_workspace(std::int64_t size) noexcept {
  return 2 * reflection_block * size + size + 2 * reflection_block + block_workspace(size);
}

template <class T>
void reduce_to_hessenberg(const KernelContext<T>& context, const Matrix<T>& a, const Matrix<T>& turned,
                          T* workspace) noexcept {
  const std::int64_t size = a.rows;
  if (turned.first != nullptr) set_identity(turned);
  T* const triangle = workspace + 2 * reflection_block * size;
  T* const rest = triangle + reflection_block * reflection_block;
  for (std::int64_t first = 0; first + 2 < size; first += reflection_block) {
    const std::int64_t count = std::min(reflection_block, size - 2 - first), height = size - first - 1;
    const Panel<T> panel{{dense(workspace, count, height), dense(triangle, count, count)},
                         dense(workspace + reflection_block * size, count, height)};
    reduce_panel(*context.loops, a, first, panel, rest);
    const auto& [block, y] = panel;
    bool turns = false;
    for (std::int64_t i = 0; i < count; ++i) turns = turns || block.triangle(i, i) != 0;
    if (!turns) continue;
    const std::int64_t behind = height - count + 1;
    const auto after = a.part(first + 1, first + count, height, behind);
    apply_right(context, block, false, a.part(0, first + 1, first + 1, height), rest);
    add_product<T>(context, y.transposed(), block.vectors.part(0, count - 1, count, behind), after, Sign::minus);
    apply(context, block, true, after, rest);
    if (turned.first != nullptr) apply(context, block, true, turned.part(first + 1, 1, height, size - 1), rest);
  }
}

#define TYTO_INSTANTIATE(T) \
  template void reduce_to_hessenberg<T>(const KernelContext<T>&, const Matrix<T>&, const Matrix<T>&, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
