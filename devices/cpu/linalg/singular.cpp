// SPDX-License-Identifier: MIT
// Singular values and vectors: reduction to bidiagonal form, then the implicit QR iteration of Golub and Kahan, with
// the shift left out where it would cost small values their digits (Demmel and Kahan).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "devices/cpu/linalg/factorisations.hpp"
#include "devices/cpu/linalg/reflections.hpp"
#include "devices/cpu/linalg/rotations.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
struct Bidiagonal {
  T* diagonal;
  T* above;          // one shorter
  T* left_factors;   // of the reflections that turn columns
  T* right_factors;  // of those that turn rows
};

// Reflections turn a column and a row at a time. A block of them keeps what it does to the rest as two sums of outer
// products, v y^T of columns and x u^T of rows, and changes the rest once. What needs no turning has no product.
template <class T>
void reduce(const KernelContext<T>& context, const Matrix<T>& a, const Bidiagonal<T>& to, T* workspace) noexcept {
  const std::int64_t rows = a.rows, columns = a.columns;
  const auto vs = dense(workspace, reduction_block, rows), xs = dense(vs.row(reduction_block), reduction_block, rows);
  const auto ys = dense(xs.row(reduction_block), reduction_block, columns);
  const auto us = dense(ys.row(reduction_block), reduction_block, columns);
  T* shares = us.row(reduction_block);
  const VectorLoops<T>& loops = *context.loops;
  for (std::int64_t first = 0; first < columns; first += reduction_block) {
    const std::int64_t last = std::min(first + reduction_block, columns);
    std::int64_t turned_columns = 0, turned_rows = 0;
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t height = rows - k, width = columns - k - 1;
      T *v = vs.row(turned_columns), *x = xs.row(turned_rows), *y = ys.row(turned_columns), *u = us.row(turned_rows);
      T* column = v + k;
      for (std::int64_t i = 0; i < height; ++i) column[i] = a(k + i, k);
      for (std::int64_t i = 0; i < turned_columns; ++i) shares[i] = -ys(i, k);
      loops.add_rows(turned_columns, height, vs.first + k, rows, shares, column);
      for (std::int64_t i = 0; i < turned_rows; ++i) shares[i] = -us(i, k);
      loops.add_rows(turned_rows, height, xs.first + k, rows, shares, column);
      const T left = to.left_factors[k] = reflect(column, 1, height, 0);
      to.diagonal[k] = column[0];
      column[0] = 1;
      for (std::int64_t i = 1; i < height; ++i) a(k + i, k) = column[i];
      if (width == 0) continue;

      T *row = a.row(k) + k + 1, *beside = y + k + 1;
      const auto take_off = [&](const Matrix<T>& turned, const Matrix<T>& from, std::int64_t offset, const T* with,
                                std::int64_t length, std::int64_t start, std::int64_t reach, std::int64_t count,
                                T* target) {
        loops.multiply(count, length, turned.first + offset, turned.row_step, with, shares);
        for (std::int64_t i = 0; i < count; ++i) shares[i] = -shares[i];
        loops.add_rows(count, reach, from.first + start, from.row_step, shares, target);
      };
      if (left != 0) {
        std::fill_n(beside, width, T(0));
        loops.add_rows(height, width, row, a.row_step, column, beside);
        take_off(vs, ys, k, column, height, k + 1, width, turned_columns, beside);
        take_off(xs, us, k, column, height, k + 1, width, turned_rows, beside);
        for (std::int64_t i = 0; i < width; ++i) beside[i] *= left;
        ++turned_columns;
      }

      for (std::int64_t i = 0; i < turned_columns; ++i) shares[i] = -vs(i, k);
      loops.add_rows(turned_columns, width, ys.first + k + 1, columns, shares, row);
      for (std::int64_t i = 0; i < turned_rows; ++i) shares[i] = -xs(i, k);
      loops.add_rows(turned_rows, width, us.first + k + 1, columns, shares, row);
      const T right = to.right_factors[k] = reflect(row, 1, width, 0);
      to.above[k] = row[0];
      if (right == 0) continue;
      u[k] = 0;
      std::copy_n(row, width, u + k + 1);
      u[k + 1] = 1;

      T* below = x + k + 1;
      loops.multiply(height - 1, width, row + a.row_step, a.row_step, u + k + 1, below);
      take_off(ys, vs, k + 1, u + k + 1, width, k + 1, height - 1, turned_columns, below);
      take_off(us, xs, k + 1, u + k + 1, width, k + 1, height - 1, turned_rows, below);
      for (std::int64_t i = 0; i + 1 < height; ++i) below[i] *= right;
      ++turned_rows;
    }
    const auto rest = a.part(last, last, rows - last, columns - last);
    if (rest.columns == 0) continue;
    const auto take_off_rest = [&](const Matrix<T>& tall, const Matrix<T>& wide, std::int64_t count) {
      if (count == 0) return;
      add_product<T>(context, tall.part(0, last, count, rest.rows).transposed(),
                     wide.part(0, last, count, rest.columns), rest, Sign::minus);
    };
    take_off_rest(vs, ys, turned_columns);
    take_off_rest(xs, us, turned_rows);
  }
}

/// The iteration on a bidiagonal matrix, whose rotations from the left and from the right are kept.
template <class T>
struct Iteration {
  T* d;
  T* e;
  RotationSweeps<T>& left;
  RotationSweeps<T>& right;

  /// Square root of the eigenvalue of the last two columns' products that lies nearer to the last one's length.
  T shift(std::int64_t begin, std::int64_t end) const noexcept {
    const T before = end - 1 > begin ? e[end - 2] : T(0);
    const T p = d[end - 1] * d[end - 1] + before * before, q = d[end] * d[end] + e[end - 1] * e[end - 1];
    const T r = d[end - 1] * e[end - 1], half = (p - q) / 2;
    if (r == 0) return std::abs(d[end]);
    const T square = q - r * (r / (half + std::copysign(std::hypot(half, r), half)));
    return square > 0 ? std::sqrt(square) : T(0);
  }

  void shifted_sweep(std::int64_t begin, std::int64_t end, T by) noexcept {
    T f = (std::abs(d[begin]) - by) * (std::copysign(T(1), d[begin]) + by / d[begin]), g = e[begin];
    left.begin(begin);
    right.begin(begin);
    for (std::int64_t k = begin; k < end; ++k) {
      const Rotation<T> columns = rotation_of(f, g);
      if (k > begin) e[k - 1] = columns.length;
      f = columns.c * d[k] + columns.s * e[k];
      e[k] = columns.c * e[k] - columns.s * d[k];
      g = columns.s * d[k + 1];
      d[k + 1] *= columns.c;
      const Rotation<T> rows = rotation_of(f, g);
      d[k] = rows.length;
      f = rows.c * e[k] + rows.s * d[k + 1];
      d[k + 1] = rows.c * d[k + 1] - rows.s * e[k];
      if (k + 1 < end) {
        g = rows.s * e[k + 1];
        e[k + 1] *= rows.c;
      }
      right.add(columns);
      left.add(rows);
    }
    e[end - 1] = f;
  }

  void plain_sweep(std::int64_t begin, std::int64_t end) noexcept {
    Rotation<T> columns, rows;
    left.begin(begin);
    right.begin(begin);
    for (std::int64_t k = begin; k < end; ++k) {
      columns = rotation_of(d[k] * columns.c, e[k]);
      if (k > begin) e[k - 1] = rows.s * columns.length;
      rows = rotation_of(rows.c * columns.length, d[k + 1] * columns.s);
      d[k] = rows.length;
      right.add(columns);
      left.add(rows);
    }
    const T rest = d[end] * columns.c;
    d[end] = rest * rows.c;
    e[end - 1] = rest * rows.s;
  }

  bool run(std::int64_t size) noexcept {
    constexpr T epsilon = std::numeric_limits<T>::epsilon() / 2;
    T largest = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      largest = std::max({largest, std::abs(d[i]), i + 1 < size ? std::abs(e[i]) : T(0)});
    }
    const T nothing = largest * epsilon / 16 + std::numeric_limits<T>::min();
    // Between equal values a sweep leaves a few roundings, which no further one would take away.
    const auto negligible = [&](std::int64_t i) {
      return std::abs(e[i]) <= 4 * epsilon * (std::abs(d[i]) + std::abs(d[i + 1])) + nothing;
    };
    std::int64_t sweeps = 60 * size;
    for (std::int64_t end = size - 1; end > 0;) {
      if (negligible(end - 1)) {
        e[--end] = 0;
        continue;
      }
      std::int64_t begin = end - 1;
      while (begin > 0 && !negligible(begin - 1)) --begin;
      if (sweeps-- == 0) return false;
      // A zero on the diagonal, or one about to be, comes off by a sweep without shift.
      T by = 0;
      bool whole = true;
      for (std::int64_t i = begin; i <= end; ++i) {
        if (std::abs(d[i]) <= nothing) {
          d[i] = 0;
          whole = false;
        }
      }
      if (whole) by = shift(begin, end);
      const T ratio = whole ? by / std::abs(d[begin]) : T(0);
      if (ratio * ratio > epsilon) {
        shifted_sweep(begin, end, by);
      } else {
        plain_sweep(begin, end);
      }
    }
    return true;
  }
};

/// The reflections of columns [begin, end): rows over the elements from `begin + shift` on, one at the first of them.
template <class T>
ReflectionBlock<T> gather(const KernelContext<T>& context, const Matrix<const T>& a, std::int64_t begin,
                          std::int64_t end, std::int64_t shift, const T* factors, T* workspace) noexcept {
  const std::int64_t count = end - begin, size = a.rows - begin - shift;
  T* triangle = workspace + reflection_block * a.rows;
  const ReflectionBlock<T> block{dense(workspace, count, size), dense(triangle, count, count)};
  for (std::int64_t i = 0; i < count; ++i) {
    T* to = block.vectors.row(i);
    std::fill_n(to, i, T(0));
    to[i] = 1;
    for (std::int64_t row = i + 1; row < size; ++row) to[row] = a(begin + shift + row, begin + i);
  }
  join(context, block, factors + begin);
  return block;
}

/// Beyond so many rows a column, QR and the singular values of R take less time.
constexpr bool is_tall(std::int64_t rows, std::int64_t columns) noexcept { return 5 * rows > 8 * columns; }

std::int64_t direct_workspace(std::int64_t rows, std::int64_t columns, std::int64_t u_columns) noexcept {
  const std::int64_t reduction = reduction_block * (2 * rows + 2 * columns) + reduction_block;
  if (u_columns == 0) return 4 * columns + reduction;
  return 4 * columns + u_columns * rows + columns * columns +
         std::max({reduction, 2 * RotationSweeps<double>::workspace(u_columns),
                   reflection_block * rows + block_workspace(rows)});
}

template <class T>
bool decompose(const KernelContext<T>& context, const Matrix<T>& a, T* values, const Matrix<T>& u,
               const Matrix<T>& v_transposed, T* workspace) noexcept {
  const std::int64_t size = a.columns;
  const bool vectors = u.first != nullptr;
  const Bidiagonal<T> to{workspace, workspace + size, workspace + 2 * size, workspace + 3 * size};
  T* rest = workspace + 4 * size;
  Matrix<T> lefts, rights;  // vectors as rows
  if (vectors) {
    lefts = dense(rest, u.columns, a.rows);
    rights = dense(lefts.row(u.columns), size, size);
    rest = rights.row(size);
  }
  reduce(context, a, to, rest);
  const std::int64_t blocks = vectors ? (size + reflection_block - 1) / reflection_block : 0;
  if (vectors) {
    // Rotations start from what the reflections make of the identity: its zeros would become numbers below the smallest
    // normal one, with which processors are slow.
    set_identity(lefts);
    set_identity(rights);
    T* shares = rest + reflection_block * a.rows + reflection_block * reflection_block;
    for (std::int64_t number = blocks; number-- > 0;) {
      const std::int64_t begin = number * reflection_block, end = std::min(begin + reflection_block, size);
      const auto block = gather<T>(context, a, begin, end, 0, to.left_factors, rest);
      apply_right(context, block, true, lefts.part(begin, begin, lefts.rows - begin, a.rows - begin), shares);
    }
    for (std::int64_t number = blocks; number-- > 0;) {
      const std::int64_t begin = number * reflection_block, end = std::min(begin + reflection_block, size - 1);
      if (begin >= end) continue;
      const auto turned = a.part(0, 0, size, size).transposed();
      const auto block = gather<T>(context, turned, begin, end, 1, to.right_factors, rest);
      apply_right(context, block, true, rights.part(begin + 1, begin + 1, size - begin - 1, size - begin - 1), shares);
    }
  }
  RotationSweeps<T> left(context, lefts, rest), right(context, rights, rest + RotationSweeps<T>::workspace(u.columns));
  if (!Iteration<T>{to.diagonal, to.above, left, right}.run(size)) return false;
  left.flush();
  right.flush();
  if (!vectors) {
    for (std::int64_t i = 0; i < size; ++i) values[i] = std::abs(to.diagonal[i]);
    std::sort(values, values + size, std::greater<>());
    return true;
  }

  T* order = to.above;
  for (std::int64_t i = 0; i < size; ++i) order[i] = static_cast<T>(i);
  std::sort(order, order + size, [&](T one, T other) {
    const auto i = static_cast<std::int64_t>(one), j = static_cast<std::int64_t>(other);
    const T p = std::abs(to.diagonal[i]), q = std::abs(to.diagonal[j]);
    return p != q ? p > q : i < j;
  });
  for (std::int64_t rank = 0; rank < size; ++rank) {
    const auto from = static_cast<std::int64_t>(order[rank]);
    const T value = to.diagonal[from], sign = value < 0 ? T(-1) : T(1);
    values[rank] = std::abs(value);
    for (std::int64_t i = 0; i < size; ++i) v_transposed(rank, i) = sign * rights(from, i);
  }
  for (std::int64_t row = 0; row < u.rows; ++row) {
    for (std::int64_t column = 0; column < u.columns; ++column) {
      u(row, column) = lefts(column < size ? static_cast<std::int64_t>(order[column]) : column, row);
    }
  }
  return true;
}

}  // namespace

std::int64_t singular_workspace(std::int64_t rows, std::int64_t columns, std::int64_t u_columns) noexcept {
  if (!is_tall(rows, columns)) return direct_workspace(rows, columns, u_columns);
  return columns + 2 * columns * columns + qr_workspace(rows, columns, u_columns) +
         direct_workspace(columns, columns, u_columns == 0 ? 0 : columns);
}

template <class T>
bool decompose_singular(const KernelContext<T>& context, Matrix<T> a, T* values, Matrix<T> u, Matrix<T> v_transposed,
                        T* workspace) noexcept {
  const std::int64_t size = a.columns;
  const bool vectors = u.first != nullptr;
  if (size == 0) {
    if (vectors) set_identity(u);
    return true;
  }
  if (!is_tall(a.rows, size)) return decompose(context, a, values, u, v_transposed, workspace);
  T *factors = workspace, *qr = factors + size + 2 * size * size;
  const auto r = dense(factors + size, size, size);
  const auto small = vectors ? dense(r.row(size), size, size) : Matrix<T>();
  factorise_qr(context, a, factors, qr);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column) r(row, column) = column < row ? T(0) : a(row, column);
  }
  if (!decompose(context, r, values, small, v_transposed, qr + qr_workspace(a.rows, size, u.columns))) return false;
  if (!vectors) return true;
  set_identity(u);
  for (std::int64_t row = 0; row < size; ++row) std::copy_n(small.row(row), size, u.row(row));
  multiply_by_q<T>(context, a, factors, u, qr);
  return true;
}

#define TYTO_INSTANTIATE(T) \
  template bool decompose_singular<T>(const KernelContext<T>&, Matrix<T>, T*, Matrix<T>, Matrix<T>, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
