// SPDX-License-Identifier: MIT
// LU, Cholesky's factor and triangular systems of complex matrices: by halves down to a few columns, so that nearly all
// of the work lies in real products of their parts.
#include <limits>

#include "devices/cpu/linalg/complex_parts.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Columns that are not halved any more.
constexpr Index few = 8;

/// y -= a x
template <class T>
void subtract_scaled(const VectorLoops<T>& loops, Index count, Number<T> a, Vector<T> x, Vector<T> y) {
  loops.add_scaled(count, -a.re, x.re, y.re);
  loops.add_scaled(count, a.im, x.im, y.re);
  loops.add_scaled(count, -a.re, x.im, y.im);
  loops.add_scaled(count, -a.im, x.re, y.im);
}

template <class T>
Vector<T> row_of(const Parts<T>& a, Index row, Index column = 0) {
  return {a.re.row(row) + column, a.im.row(row) + column};
}

/// x[r] conj(y[r]) summed up.
template <class T>
Number<T> adjoint_dot(const VectorLoops<T>& loops, Index count, Vector<T> x, Vector<T> y) {
  return {loops.dot(count, x.re, y.re) + loops.dot(count, x.im, y.im),
          loops.dot(count, x.im, y.re) - loops.dot(count, x.re, y.im)};
}

template <class T>
void exchange_rows(const Parts<T>& a, Index one, Index other) {
  std::swap_ranges(a.re.row(one), a.re.row(one) + a.re.columns, a.re.row(other));
  std::swap_ranges(a.im.row(one), a.im.row(one) + a.im.columns, a.im.row(other));
}

/// Columns from `first` to before `past`, of rows from `first` on; rows are exchanged in their whole length.
template <class T>
void factorise_columns(const KernelContext<T>& context, const Parts<T>& a, Index first, Index past, Index* pivots) {
  const Index rows = a.re.rows;
  if (past - first > few) {
    const Index middle = first + (past - first) / 2, left = middle - first, right = past - middle;
    factorise_columns(context, a, first, middle, pivots);
    solve_triangular(context, part(a, first, first, left, left), Triangle::lower, true,
                     part(a, first, middle, left, right));
    add_complex_product(context, part(a, middle, first, rows - middle, left), part(a, first, middle, left, right),
                        part(a, middle, middle, rows - middle, right), Sign::minus);
    return factorise_columns(context, a, middle, past, pivots);
  }
  for (Index k = first; k < past; ++k) {
    Index best = k;
    T largest = 0;
    for (Index row = k; row < rows; ++row) {
      const T size = rough_size(get(a, row, k));
      if (size > largest || (size != size && largest == largest)) best = row, largest = size;
    }
    pivots[k] = best;
    if (best != k) exchange_rows(a, k, best);
    const Number<T> pivot = get(a, k, k);
    if (pivot.re == 0 && pivot.im == 0) continue;
    for (Index row = k + 1; row < rows; ++row) {
      const Number<T> factor = get(a, row, k) / pivot;
      set(a, row, k, factor);
      subtract_scaled(*context.loops, past - k - 1, factor, row_of(a, k, k + 1), row_of(a, row, k + 1));
    }
  }
}

/// a becomes a l^-H for a lower triangle l.
template <class T>
void divide_by_adjoint(const KernelContext<T>& context, const Parts<T>& l, const Parts<T>& a) {
  const Index size = l.re.rows, rows = a.re.rows;
  if (size > few) {
    const Index half = size / 2, rest = size - half;
    const Parts<T> left = part(a, 0, 0, rows, half), right = part(a, 0, half, rows, rest);
    divide_by_adjoint(context, part(l, 0, 0, half, half), left);
    add_complex_product(context, left, transposed(part(l, half, 0, rest, half)), right, Sign::minus, {false, true});
    return divide_by_adjoint(context, part(l, half, half, rest, rest), right);
  }
  for (Index row = 0; row < rows; ++row) {
    for (Index j = 0; j < size; ++j) {
      const Number<T> rest = get(a, row, j) - adjoint_dot(*context.loops, j, row_of(a, row), row_of(l, j));
      set(a, row, j, {rest.re / l.re(j, j), rest.im / l.re(j, j)});
    }
  }
}

}  // namespace

template <class T>
std::int64_t factorise_lu(const KernelContext<T>& context, Parts<T> a, std::int64_t* pivots) noexcept {
  const Index rows = a.re.rows, columns = a.re.columns, square = std::min(rows, columns);
  factorise_columns(context, a, 0, square, pivots);
  if (columns > square) {
    solve_triangular(context, part(a, 0, 0, square, square), Triangle::lower, true,
                     part(a, 0, square, square, columns - square));
  }
  for (Index k = 0; k < square; ++k) {
    if (a.re(k, k) == 0 && a.im(k, k) == 0) return k + 1;
  }
  return 0;
}

template <class T>
std::int64_t factorise_cholesky(const KernelContext<T>& context, Parts<T> a) noexcept {
  const Index size = a.re.rows;
  if (size > few) {
    const Index half = size / 2, rest = size - half;
    const Parts<T> corner = part(a, half, half, rest, rest), below = part(a, half, 0, rest, half);
    if (const Index bad = factorise_cholesky(context, part(a, 0, 0, half, half)); bad != 0) return bad;
    divide_by_adjoint(context, part(a, 0, 0, half, half), below);
    add_complex_product(context, below, transposed(below), corner, Sign::minus, {false, true});
    const Index bad = factorise_cholesky(context, corner);
    return bad == 0 ? 0 : half + bad;
  }
  for (Index j = 0; j < size; ++j) {
    const Vector<T> own = row_of(a, j);
    const T square = a.re(j, j) - adjoint_dot(*context.loops, j, own, own).re;
    if (!(square > 0)) return j + 1;
    const T length = std::sqrt(square);
    set(a, j, j, {length, T(0)});
    for (Index row = j + 1; row < size; ++row) {
      const Number<T> left = get(a, row, j) - adjoint_dot(*context.loops, j, row_of(a, row), own);
      set(a, row, j, {left.re / length, left.im / length});
    }
  }
  return 0;
}

template <class T>
void solve_triangular(const KernelContext<T>& context, const Parts<T>& t, Triangle triangle, bool unit,
                      const Parts<T>& b) noexcept {
  const Index size = t.re.rows, columns = b.re.columns;
  const bool lower = triangle == Triangle::lower;
  if (size > few) {
    const Index half = size / 2, rest = size - half;
    const Parts<T> above = part(b, 0, 0, half, columns), below = part(b, half, 0, rest, columns);
    const Parts<T> first = part(t, 0, 0, half, half), second = part(t, half, half, rest, rest);
    solve_triangular(context, lower ? first : second, triangle, unit, lower ? above : below);
    if (lower) add_complex_product(context, part(t, half, 0, rest, half), above, below, Sign::minus);
    else add_complex_product(context, part(t, 0, half, half, rest), below, above, Sign::minus);
    return solve_triangular(context, lower ? second : first, triangle, unit, lower ? below : above);
  }
  for (Index step = 0; step < size; ++step) {
    const Index row = lower ? step : size - 1 - step;
    const Index from = lower ? 0 : row + 1, past = lower ? row : size;
    for (Index j = from; j < past; ++j) {
      subtract_scaled(*context.loops, columns, get(t, row, j), row_of(b, j), row_of(b, row));
    }
    for (Index j = 0; j < columns && !unit; ++j) set(b, row, j, get(b, row, j) / get(t, row, row));
  }
}

#define TYTO_FOR_BOTH(T)                                                                         \
  template std::int64_t factorise_lu(const KernelContext<T>&, Parts<T>, std::int64_t*) noexcept; \
  template std::int64_t factorise_cholesky(const KernelContext<T>&, Parts<T>) noexcept;          \
  template void solve_triangular(const KernelContext<T>&, const Parts<T>&, Triangle, bool, const Parts<T>&) noexcept;
TYTO_FOR_BOTH(float)
TYTO_FOR_BOTH(double)
#undef TYTO_FOR_BOTH

}  // namespace tyto::cpu::linalg
