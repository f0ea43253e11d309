// SPDX-License-Identifier: MIT
// QR by blocks of Householder reflections.
#include <algorithm>

#include "devices/cpu/linalg/factorisations.hpp"
#include "devices/cpu/linalg/reflections.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Cuts the workspace of factorise_qr and form_q.
template <class T>
struct QrWorkspace {
  T* vectors;   // reflection_block rows of the matrix' height
  T* triangle;  // reflection_block squared
  T* shares;    // for apply(); its start serves as one column and one row while a block is made

  QrWorkspace(T* workspace, std::int64_t rows)
      : vectors(workspace),
        triangle(workspace + reflection_block * rows),
        shares(triangle + reflection_block * reflection_block) {}
};

/// The reflections of columns [begin, end) as rows over the matrix' rows from `begin` on.
template <class T>
ReflectionBlock<T> gather(const KernelContext<T>& context, const Matrix<const T>& a, std::int64_t begin,
                          std::int64_t end, const T* factors, const QrWorkspace<T>& workspace) noexcept {
  const std::int64_t count = end - begin, size = a.rows - begin;
  const ReflectionBlock<T> block{dense(workspace.vectors, count, size), dense(workspace.triangle, count, count)};
  for (std::int64_t i = 0; i < count; ++i) {
    T* to = block.vectors.row(i);
    std::fill_n(to, i, T(0));
    to[i] = 1;
  }
  // Row by row of a: each gives one element to every vector.
  for (std::int64_t row = begin + 1; row < a.rows; ++row) {
    const T* from = a.row(row) + begin;
    const std::int64_t inside = std::min(count, row - begin);
    for (std::int64_t i = 0; i < inside; ++i) block.vectors(i, row - begin) = from[i];
  }
  join(context, block, factors + begin);
  return block;
}

template <class T>
void factorise_panel(const KernelContext<T>& context, const Matrix<T>& a, std::int64_t begin, std::int64_t end,
                     T* factors, const QrWorkspace<T>& workspace) noexcept {
  T* column = workspace.vectors;  // free until the panel is done
  T* row = workspace.shares;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t height = a.rows - k, width = end - k - 1;
    for (std::int64_t i = 0; i < height; ++i) column[i] = a(k + i, k);
    factors[k] = reflect(column, 1, height, 0);
    for (std::int64_t i = 0; i < height; ++i) a(k + i, k) = column[i];
    if (factors[k] == 0 || width == 0) continue;
    column[0] = 1;
    std::fill_n(row, width, T(0));
    context.loops->add_rows(height, width, a.row(k) + k + 1, a.row_step, column, row);
    for (std::int64_t i = 0; i < width; ++i) row[i] *= -factors[k];
    context.loops->add_outer(height, width, column, row, a.row(k) + k + 1, a.row_step);
  }
}

}  // namespace

std::int64_t qr_workspace(std::int64_t rows, std::int64_t columns, std::int64_t width) noexcept {
  return reflection_block * rows + block_workspace(std::max(columns, width));
}

template <class T>
void factorise_qr(const KernelContext<T>& context, Matrix<T> a, T* factors, T* workspace) noexcept {
  const QrWorkspace<T> cut(workspace, a.rows);
  for (std::int64_t begin = 0; begin < a.columns; begin += reflection_block) {
    const std::int64_t end = std::min(begin + reflection_block, a.columns);
    factorise_panel(context, a, begin, end, factors, cut);
    if (end == a.columns) break;
    if (!any_turns(factors + begin, end - begin)) continue;
    const ReflectionBlock<T> block = gather<T>(context, a, begin, end, factors, cut);
    apply(context, block, true, a.part(begin, end, a.rows - begin, a.columns - end), cut.shares);
  }
}

template <class T>
void multiply_by_q(const KernelContext<T>& context, Matrix<const T> a, const T* factors, Matrix<T> c,
                   T* workspace) noexcept {
  const QrWorkspace<T> cut(workspace, a.rows);
  const std::int64_t blocks = (a.columns + reflection_block - 1) / reflection_block;
  for (std::int64_t number = blocks; number-- > 0;) {
    const std::int64_t begin = number * reflection_block, end = std::min(begin + reflection_block, a.columns);
    if (!any_turns(factors + begin, end - begin)) continue;
    const ReflectionBlock<T> block = gather(context, a, begin, end, factors, cut);
    apply(context, block, false, c.part(begin, 0, c.rows - begin, c.columns), cut.shares);
  }
}

template <class T>
void form_q(const KernelContext<T>& context, Matrix<const T> a, const T* factors, Matrix<T> q, T* workspace) noexcept {
  const QrWorkspace<T> cut(workspace, a.rows);
  set_identity(q);
  // The columns before a block are still those of the identity, zero where it would change them.
  const std::int64_t blocks = (a.columns + reflection_block - 1) / reflection_block;
  for (std::int64_t number = blocks; number-- > 0;) {
    const std::int64_t begin = number * reflection_block, end = std::min(begin + reflection_block, a.columns);
    if (!any_turns(factors + begin, end - begin)) continue;
    const ReflectionBlock<T> block = gather(context, a, begin, end, factors, cut);
    apply(context, block, false, q.part(begin, begin, q.rows - begin, q.columns - begin), cut.shares);
  }
}

#define TYTO_INSTANTIATE(T)                                                                                   \
  template void factorise_qr<T>(const KernelContext<T>&, Matrix<T>, T*, T*) noexcept;                         \
  template void multiply_by_q<T>(const KernelContext<T>&, Matrix<const T>, const T*, Matrix<T>, T*) noexcept; \
  template void form_q<T>(const KernelContext<T>&, Matrix<const T>, const T*, Matrix<T>, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
