// SPDX-License-Identifier: MIT
// QR, eigenvalues of Hermitian matrices and singular values of complex ones, by Householder's reflections. These leave
// two diagonals that are real, of which the real solvers find values and vectors.
#include "devices/cpu/linalg/complex_reflections.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
void put_column(Vector<T> v, const Parts<T>& a, Index row, Index column) {
  for (Index r = row; r < a.re.rows; ++r) set(a, r, column, {v.re[r - row], v.im[r - row]});
}

/// The product of `count` reflections of which number k has its vector in column k of `vectors` from row k + below on,
/// times the identity: the first columns of it in q.
template <class T>
void form_from(const VectorLoops<T>& loops, const Parts<T>& vectors, Index below, Index count, Vector<T> taus,
               const Parts<T>& q, const ReflectionWorkspace<T>& workspace) {
  set_identity(q.re);
  for (Index row = 0; row < q.im.rows; ++row) std::fill_n(q.im.row(row), q.im.columns, T(0));
  for (Index k = count; k-- > 0;) {
    const Index first = k + below;
    take_column(vectors, first, k, workspace.v);
    workspace.v.re[0] = 1;
    workspace.v.im[0] = 0;
    // Columns before the reflection's rows are still those of the identity there.
    const Index from = std::min(first, q.re.columns);
    reflect_rows(loops, part(q, first, from, q.re.rows - first, q.re.columns - from), {taus.re[k], taus.im[k]},
                 workspace);
  }
}

}  // namespace

std::int64_t complex_qr_workspace(std::int64_t rows, std::int64_t columns) noexcept {
  return ReflectionWorkspace<float>::vectors * std::max(rows, columns) + 2 * columns;
}

template <class T>
void decompose_qr(const KernelContext<T>& context, Parts<T> a, Parts<T> q, T* workspace) noexcept {
  const Index rows = a.re.rows, columns = a.re.columns, length = std::max(rows, q.re.columns);
  const ReflectionWorkspace<T> tools(workspace, length);
  const Vector<T> taus{workspace + ReflectionWorkspace<T>::vectors * length,
                       workspace + ReflectionWorkspace<T>::vectors * length + columns};
  for (Index k = 0; k < columns; ++k) {
    take_column(a, k, k, tools.v);
    Number<T> tau;
    const T beta = reflect(rows - k, tools.v, tau);
    reflect_rows(*context.loops, part(a, k, k + 1, rows - k, columns - k - 1), conjugate(tau), tools);
    put_column(tools.v, a, k, k);
    set(a, k, k, {beta, T(0)});
    taus.re[k] = tau.re;
    taus.im[k] = tau.im;
  }
  form_from(*context.loops, a, 0, columns, taus, q, tools);
}

std::int64_t hermitian_workspace(std::int64_t size, bool vectors) noexcept {
  return ReflectionWorkspace<float>::vectors * size + 2 * size + size * size + (vectors ? 2 * size * size : 0) +
         eigen_workspace(size, vectors);
}

template <class T>
bool decompose_symmetric(const KernelContext<T>& context, Parts<T> a, bool wanted, T* values, T* workspace) noexcept {
  const Index n = a.re.rows;
  const ReflectionWorkspace<T> tools(workspace, n);
  workspace += ReflectionWorkspace<T>::vectors * n;
  const Vector<T> taus{workspace, workspace + n};
  const Matrix<T> diagonals = dense(workspace + 2 * n, n, n);
  workspace += 2 * n + n * n;
  std::fill_n(diagonals.first, n * n, T(0));
  for (Index k = 0; k < n; ++k) {
    diagonals(k, k) = a.re(k, k);
    if (k + 1 == n) break;
    const Index rest = n - k - 1;
    take_column(a, k + 1, k, tools.v);
    Number<T> tau;
    diagonals(k + 1, k) = diagonals(k, k + 1) = reflect(rest, tools.v, tau);
    const Parts<T> corner = part(a, k + 1, k + 1, rest, rest);
    reflect_rows(*context.loops, corner, conjugate(tau), tools);
    reflect_columns(*context.loops, corner, tau, tools);
    put_column(tools.v, a, k + 1, k);
    taus.re[k] = tau.re;
    taus.im[k] = tau.im;
  }
  Parts<T> q;
  if (wanted) {
    q = dense_parts(workspace, n, n);
    workspace += 2 * n * n;
    form_from(*context.loops, a, 1, n - 1, taus, q, tools);
  }
  if (!decompose_symmetric(context, diagonals, wanted, values, workspace)) return false;
  if (!wanted) return true;
  std::fill_n(a.re.first, n * n, T(0));
  std::fill_n(a.im.first, n * n, T(0));
  add_product<T>(context, q.re, diagonals, a.re);
  add_product<T>(context, q.im, diagonals, a.im);
  return true;
}

std::int64_t complex_singular_workspace(std::int64_t rows, std::int64_t columns, std::int64_t u_columns) noexcept {
  const bool vectors = u_columns > 0;
  return ReflectionWorkspace<float>::vectors * std::max(rows, columns) + 4 * columns + columns * columns +
         (vectors ? 6 * columns * columns + 2 * rows * u_columns : 0) +
         singular_workspace(columns, columns, vectors ? columns : 0);
}

template <class T>
bool decompose_singular(const KernelContext<T>& context, Parts<T> a, T* values, const Parts<T>& u,
                        const Parts<T>& v_adjoint, T* workspace) noexcept {
  const Index rows = a.re.rows, n = a.re.columns;
  const bool wanted = u.re.first != nullptr;
  const ReflectionWorkspace<T> tools(workspace, std::max(rows, n));
  workspace += ReflectionWorkspace<T>::vectors * std::max(rows, n);
  const Vector<T> left{workspace, workspace + n}, right{workspace + 2 * n, workspace + 3 * n};
  const Matrix<T> diagonals = dense(workspace + 4 * n, n, n);
  workspace += 4 * n + n * n;
  std::fill_n(diagonals.first, n * n, T(0));
  // The vectors of the right, as columns below a first subdiagonal.
  Parts<T> turned;
  if (wanted) {
    turned = dense_parts(workspace, n, n);
    workspace += 2 * n * n;
  }
  for (Index k = 0; k < n; ++k) {
    take_column(a, k, k, tools.v);
    Number<T> tau;
    diagonals(k, k) = reflect(rows - k, tools.v, tau);
    reflect_rows(*context.loops, part(a, k, k + 1, rows - k, n - k - 1), conjugate(tau), tools);
    put_column(tools.v, a, k, k);
    left.re[k] = tau.re;
    left.im[k] = tau.im;
    if (k + 1 == n) break;
    // The row, conjugated, is what a reflection from the right takes to its first element.
    const Index rest = n - k - 1;
    for (Index j = 0; j < rest; ++j) {
      tools.v.re[j] = a.re(k, k + 1 + j);
      tools.v.im[j] = -a.im(k, k + 1 + j);
    }
    diagonals(k, k + 1) = reflect(rest, tools.v, tau);
    reflect_columns(*context.loops, part(a, k + 1, k + 1, rows - k - 1, rest), tau, tools);
    right.re[k] = tau.re;
    right.im[k] = tau.im;
    if (wanted) put_column(tools.v, turned, k + 1, k);
  }
  Matrix<T> inner_u, inner_v;
  Parts<T> q, p;
  if (wanted) {
    inner_u = dense(workspace, n, n);
    inner_v = dense(workspace + n * n, n, n);
    p = dense_parts(workspace + 2 * n * n, n, n);
    q = dense_parts(workspace + 4 * n * n, rows, u.re.columns);
    workspace += 4 * n * n + 2 * rows * u.re.columns;
  }
  if (!decompose_singular(context, diagonals, values, inner_u, inner_v, workspace)) return false;
  if (!wanted) return true;
  form_from(*context.loops, a, 0, n, left, q, tools);
  form_from(*context.loops, turned, 1, std::max<Index>(n - 1, 0), right, p, tools);
  for (const auto& [whole, to] : {std::pair(q.re, u.re), std::pair(q.im, u.im)}) {
    for (Index row = 0; row < rows; ++row) {
      std::fill_n(to.row(row), n, T(0));
      std::copy(whole.row(row) + n, whole.row(row) + whole.columns, to.row(row) + n);
    }
    add_product<T>(context, whole.part(0, 0, rows, n), inner_u, to.part(0, 0, rows, n));
  }
  std::fill_n(v_adjoint.re.first, n * n, T(0));
  std::fill_n(v_adjoint.im.first, n * n, T(0));
  add_product<T>(context, inner_v, p.re.transposed(), v_adjoint.re);
  add_product<T>(context, inner_v, p.im.transposed(), v_adjoint.im, Sign::minus);
  return true;
}

#define TYTO_FOR_BOTH(T)                                                                                    \
  template void decompose_qr(const KernelContext<T>&, Parts<T>, Parts<T>, T*) noexcept;                     \
  template bool decompose_symmetric(const KernelContext<T>&, Parts<T>, bool, T*, T*) noexcept;              \
  template bool decompose_singular(const KernelContext<T>&, Parts<T>, T*, const Parts<T>&, const Parts<T>&, \
                                   T*) noexcept;
TYTO_FOR_BOTH(float)
TYTO_FOR_BOTH(double)
#undef TYTO_FOR_BOTH

}  // namespace tyto::cpu::linalg
