// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of symmetric matrices: reduction to tridiagonal form, and back from its eigenvectors.
#include <algorithm>

#include "devices/cpu/linalg/factorisations.hpp"
#include "devices/cpu/linalg/reflections.hpp"
#include "devices/cpu/linalg/tridiagonal.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
struct Tridiagonal {
  T* diagonal;
  T* beside;   // one shorter
  T* factors;  // of the reflections, by row
};

// Rows are reduced from the last one up: row k's reflection turns its first k elements into one, and what it does to
// the rows above is v w^T + w v^T. A block of rows keeps its v and w, but those of rows that need no turning, and
// changes the rows above it once.
template <class T>
void reduce(const KernelContext<T>& context, const Matrix<T>& a, const Tridiagonal<T>& to, T* workspace) noexcept {
  const std::int64_t size = a.rows;
  const auto vs = dense(workspace, reduction_block, size), ws = dense(vs.row(reduction_block), reduction_block, size);
  T* shares = ws.row(reduction_block);
  const VectorLoops<T>& loops = *context.loops;
  for (std::int64_t bottom = size; bottom > 1;) {
    const std::int64_t count = std::min(reduction_block, bottom - 1), top = bottom - count;
    std::int64_t kept = 0;
    for (std::int64_t k = bottom - 1; k >= top; --k) {
      T* row = a.row(k);
      for (std::int64_t i = 0; i < kept; ++i) shares[i] = -vs(i, k);
      loops.add_rows(kept, k + 1, ws.first, size, shares, row);
      for (std::int64_t i = 0; i < kept; ++i) shares[i] = -ws(i, k);
      loops.add_rows(kept, k + 1, vs.first, size, shares, row);
      to.diagonal[k] = row[k];
      const T factor = to.factors[k] = reflect(row, 1, k, k - 1);
      to.beside[k - 1] = row[k - 1];
      if (factor == 0) continue;
      T *v = vs.row(kept), *w = ws.row(kept);
      std::copy_n(row, k - 1, v);
      v[k - 1] = 1;
      v[k] = 0;
      loops.multiply_symmetric(k, a.first, a.row_step, v, w);
      w[k] = 0;
      loops.multiply(kept, k, ws.first, size, v, shares);
      for (std::int64_t i = 0; i < kept; ++i) shares[i] = -shares[i];
      loops.add_rows(kept, k, vs.first, size, shares, w);
      loops.multiply(kept, k, vs.first, size, v, shares);
      for (std::int64_t i = 0; i < kept; ++i) shares[i] = -shares[i];
      loops.add_rows(kept, k, ws.first, size, shares, w);
      for (std::int64_t i = 0; i < k; ++i) w[i] *= factor;
      loops.add_scaled(k, -factor * loops.dot(k, w, v) / 2, v, w);
      ++kept;
    }
    if (kept > 0) {
      const auto v = vs.part(0, 0, kept, top), w = ws.part(0, 0, kept, top), above = a.part(0, 0, top, top);
      add_product_below<T>(context, v.transposed(), w, above, Sign::minus);
      add_product_below<T>(context, w.transposed(), v, above, Sign::minus);
    }
    bottom = top;
  }
  to.diagonal[0] = a(0, 0);
}

/// x (rows are vectors) times the reflections in the order of their rows.
template <class T>
void turn_back(const KernelContext<T>& context, const Matrix<T>& a, const T* factors, const Matrix<T>& x,
               T* workspace) noexcept {
  const std::int64_t size = a.rows;
  T* triangle = workspace + reflection_block * size;
  for (std::int64_t first = 1; first < size; first += reflection_block) {
    const std::int64_t last = std::min(first + reflection_block, size), count = last - first, width = last - 1;
    if (!any_turns(factors + first, count)) continue;
    const ReflectionBlock<T> block{dense(workspace, count, width), dense(triangle, count, count)};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t k = first + i;
      T* v = block.vectors.row(i);
      std::copy_n(a.row(k), k - 1, v);
      v[k - 1] = 1;
      std::fill(v + k, v + width, T(0));
    }
    join(context, block, factors + first);
    apply_right(context, block, false, x.part(0, 0, size, width), triangle + reflection_block * reflection_block);
  }
}

}  // namespace

std::int64_t eigen_workspace(std::int64_t size, bool vectors) noexcept {
  const std::int64_t reduction = 3 * size + 2 * reduction_block * size + reduction_block;
  if (!vectors) return reduction;
  return 3 * size + size * size +
         std::max({reduction, division_workspace(size), reflection_block * size + block_workspace(size)});
}

template <class T>
bool decompose_symmetric(const KernelContext<T>& context, Matrix<T> a, bool vectors, T* values, T* workspace) noexcept {
  const std::int64_t size = a.rows;
  if (size == 0) return true;
  const Tridiagonal<T> to{workspace, workspace + size, workspace + 2 * size};
  T* rest = workspace + 3 * size;
  Matrix<T> x;
  if (vectors) {
    x = dense(rest, size, size);
    rest += size * size;
  }
  reduce(context, a, to, rest);
  if (!vectors) {
    if (!tridiagonal_eigenvalues(size, to.diagonal, to.beside)) return false;
    std::copy_n(to.diagonal, size, values);
    std::sort(values, values + size);
    return true;
  }
  if (!divide_tridiagonal(context, to.diagonal, to.beside, x, rest)) return false;
  turn_back(context, a, to.factors, x, rest);
  // Each vector goes to the column of its value's rank.
  T* order = to.beside;
  for (std::int64_t i = 0; i < size; ++i) order[i] = static_cast<T>(i);
  std::sort(order, order + size, [&](T left, T right) {
    const auto i = static_cast<std::int64_t>(left), j = static_cast<std::int64_t>(right);
    return to.diagonal[i] != to.diagonal[j] ? to.diagonal[i] < to.diagonal[j] : i < j;
  });
  for (std::int64_t column = 0; column < size; ++column) {
    values[column] = to.diagonal[static_cast<std::int64_t>(order[column])];
  }
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column) {
      a(row, column) = x(static_cast<std::int64_t>(order[column]), row);
    }
  }
  return true;
}

#define TYTO_INSTANTIATE(T) \
  template bool decompose_symmetric<T>(const KernelContext<T>&, Matrix<T>, bool, T*, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
