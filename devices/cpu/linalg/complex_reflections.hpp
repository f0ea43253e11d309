// SPDX-License-Identifier: MIT
// Householder's reflections of complex matrices whose parts lie in matrices of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "devices/cpu/linalg/complex_parts.hpp"

namespace tyto::cpu::linalg {

/// Workspace for one reflection on matrices of up to so many rows and columns, and how it is used.
template <class T>
struct ReflectionWorkspace {
  static constexpr Index vectors = 7;

  Vector<T> v, w, scaled;
  T* negative;

  ReflectionWorkspace(T* workspace, Index length)
      : v{workspace, workspace + length},
        w{workspace + 2 * length, workspace + 3 * length},
        scaled{workspace + 4 * length, workspace + 5 * length},
        negative(workspace + 6 * length) {}
};

/// As LAPACK's larfg: v becomes the vector, its first element one, with which 1 - conj(tau) v v^H takes v to (beta, 0,
/// 0, ..) for a real beta, which is returned. A vector that is so already has tau zero.
template <class T>
T reflect(Index count, Vector<T> v, Number<T>& tau) {
  T largest = 0;
  for (Index r = 0; r < count; ++r) largest = std::max(largest, rough_size(Number<T>{v.re[r], v.im[r]}));
  T below = std::abs(v.im[0]);
  for (Index r = 1; r < count; ++r) below = std::max({below, std::abs(v.re[r]), std::abs(v.im[r])});
  const T head_re = v.re[0];
  tau = {};
  if (below == 0) {
    v.re[0] = 1;
    return head_re;
  }
  T squares = 0;
  for (Index r = 0; r < count; ++r) {
    v.re[r] /= largest;
    v.im[r] /= largest;
    squares += v.re[r] * v.re[r] + v.im[r] * v.im[r];
  }
  const Number<T> head{v.re[0], v.im[0]};
  const T beta = -std::copysign(std::sqrt(squares), head.re);
  tau = {(beta - head.re) / beta, -head.im / beta};
  const Number<T> divisor{head.re - beta, head.im};
  v.re[0] = 1;
  v.im[0] = 0;
  for (Index r = 1; r < count; ++r) {
    const Number<T> element = Number<T>{v.re[r], v.im[r]} / divisor;
    v.re[r] = element.re;
    v.im[r] = element.im;
  }
  return beta * largest;
}

/// a becomes (1 - tau v v^H) a for the v in `workspace`.
template <class T>
void reflect_rows(const VectorLoops<T>& loops, const Parts<T>& a, Number<T> tau,
                  const ReflectionWorkspace<T>& workspace) {
  const Index rows = a.re.rows, columns = a.re.columns;
  if (columns == 0 || (tau.re == 0 && tau.im == 0)) return;
  const auto& [v, w, scaled, negative] = workspace;
  for (Index r = 0; r < rows; ++r) {
    scaled.re[r] = v.re[r];
    scaled.im[r] = -v.im[r];
  }
  std::fill_n(w.re, columns, T(0));
  std::fill_n(w.im, columns, T(0));
  add_rows(loops, a, scaled, w, negative);
  for (Index r = 0; r < rows; ++r) {
    const Number<T> element = tau * Number<T>{v.re[r], v.im[r]};
    scaled.re[r] = element.re;
    scaled.im[r] = element.im;
  }
  subtract_outer(loops, scaled, w, a, negative);
}

/// a becomes a (1 - tau v v^H).
template <class T>
void reflect_columns(const VectorLoops<T>& loops, const Parts<T>& a, Number<T> tau,
                     const ReflectionWorkspace<T>& workspace) {
  const Index rows = a.re.rows, columns = a.re.columns, step = a.re.row_step;
  if (rows == 0 || (tau.re == 0 && tau.im == 0)) return;
  const auto& [v, w, scaled, negative] = workspace;
  loops.multiply(rows, columns, a.re.first, step, v.re, w.re);
  loops.multiply(rows, columns, a.im.first, step, v.im, scaled.re);
  loops.multiply(rows, columns, a.re.first, step, v.im, w.im);
  loops.multiply(rows, columns, a.im.first, step, v.re, scaled.im);
  for (Index r = 0; r < rows; ++r) {
    const Number<T> product = tau * Number<T>{w.re[r] - scaled.re[r], w.im[r] + scaled.im[r]};
    w.re[r] = product.re;
    w.im[r] = product.im;
  }
  for (Index r = 0; r < columns; ++r) {
    scaled.re[r] = v.re[r];
    scaled.im[r] = -v.im[r];
  }
  subtract_outer(loops, w, scaled, a, negative);
}

template <class T>
Number<T> conjugate(Number<T> a) {
  return {a.re, -a.im};
}

/// Copies the elements of a column from a row on to v.
template <class T>
void take_column(const Parts<T>& a, Index row, Index column, Vector<T> v) {
  for (Index r = row; r < a.re.rows; ++r) {
    v.re[r - row] = a.re(r, column);
    v.im[r - row] = a.im(r, column);
  }
}

}  // namespace tyto::cpu::linalg
