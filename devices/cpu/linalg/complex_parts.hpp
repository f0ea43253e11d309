// SPDX-License-Identifier: MIT
// Complex numbers and matrices whose parts lie apart, and the loops over them that factorisations share.
#pragma once

#include <algorithm>
#include <cmath>

#include "devices/cpu/linalg/factorisations.hpp"

namespace tyto::cpu::linalg {

using Index = std::int64_t;

template <class T>
struct Number {
  T re = 0, im = 0;
};
template <class T>
Number<T> operator+(Number<T> a, Number<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
Number<T> operator-(Number<T> a, Number<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
Number<T> operator*(Number<T> a, Number<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
T size_of(Number<T> a) {
  return std::hypot(a.re, a.im);
}
template <class T>
T rough_size(Number<T> a) {
  return std::abs(a.re) + std::abs(a.im);
}
/// Complex division by the larger part of the divisor, so that no square overflows.
template <class T>
Number<T> operator/(Number<T> a, Number<T> b) {
  if (std::abs(b.re) >= std::abs(b.im)) {
    const T ratio = b.im / b.re, divisor = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
  }
  const T ratio = b.re / b.im, divisor = b.im + b.re * ratio;
  return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
}
template <class T>
Number<T> get(const Parts<T>& a, Index row, Index column) {
  return {a.re(row, column), a.im(row, column)};
}
template <class T>
void set(const Parts<T>& a, Index row, Index column, Number<T> value) {
  a.re(row, column) = value.re;
  a.im(row, column) = value.im;
}
template <class T>
Parts<T> part(const Parts<T>& a, Index row, Index column, Index height, Index width) {
  return {a.re.part(row, column, height, width), a.im.part(row, column, height, width)};
}

/// Complex vectors with their parts apart, and loops over them.
template <class T>
struct Vector {
  T* re = nullptr;
  T* im = nullptr;
};

/// y += the sum over r of x[r] row r, of x or of its conjugate.
template <class T>
void add_rows(const VectorLoops<T>& loops, const Parts<T>& a, Vector<T> x, Vector<T> y, T* negative) {
  const Index rows = a.re.rows, columns = a.re.columns, step = a.re.row_step;
  for (Index r = 0; r < rows; ++r) negative[r] = -x.im[r];
  loops.add_rows(rows, columns, a.re.first, step, x.re, y.re);
  loops.add_rows(rows, columns, a.im.first, step, negative, y.re);
  loops.add_rows(rows, columns, a.im.first, step, x.re, y.im);
  loops.add_rows(rows, columns, a.re.first, step, x.im, y.im);
}

/// row r -= x[r] y
template <class T>
void subtract_outer(const VectorLoops<T>& loops, Vector<T> x, Vector<T> y, const Parts<T>& a, T* negative) {
  const Index rows = a.re.rows, columns = a.re.columns, step = a.re.row_step;
  for (Index r = 0; r < rows; ++r) negative[r] = -x.re[r];
  loops.add_outer(rows, columns, negative, y.re, a.re.first, step);
  loops.add_outer(rows, columns, negative, y.im, a.im.first, step);
  loops.add_outer(rows, columns, x.im, y.im, a.re.first, step);
  for (Index r = 0; r < rows; ++r) negative[r] = -x.im[r];
  loops.add_outer(rows, columns, negative, y.re, a.im.first, step);
}

template <class T>
Parts<T> dense_parts(T* first, Index rows, Index columns) {
  return {dense(first, rows, columns), dense(first + rows * columns, rows, columns)};
}
template <class T>
Parts<T> transposed(const Parts<T>& a) {
  return {a.re.transposed(), a.im.transposed()};
}

/// The first factor as it is or conjugated, and so the second.
struct Conjugated {
  bool first = false, second = false;
};

/// c += a b, or c -= a b. Rows of c are contiguous; it overlaps neither operand.
template <class T>
void add_complex_product(const KernelContext<T>& context, const Parts<T>& a, const Parts<T>& b, const Parts<T>& c,
                         Sign sign = Sign::plus, Conjugated conjugated = {}) {
  const auto times = [&](bool minus) { return (sign == Sign::minus) != minus ? Sign::minus : Sign::plus; };
  add_product<T>(context, a.re, b.re, c.re, times(false));
  add_product<T>(context, a.im, b.im, c.re, times(conjugated.first == conjugated.second));
  add_product<T>(context, a.re, b.im, c.im, times(conjugated.second));
  add_product<T>(context, a.im, b.re, c.im, times(conjugated.first));
}

/// Each row becomes as long as one, its largest element real.
template <class T>
void normalise_rows(const Parts<T>& v) {
  const Index n = v.re.columns;
  for (Index k = 0; k < v.re.rows; ++k) {
    T* const re = v.re.row(k);
    T* const im = v.im.row(k);
    T largest = 0;
    Index place = 0;
    for (Index i = 0; i < n; ++i) {
      const T size = rough_size(Number<T>{re[i], im[i]});
      if (size > largest) {
        largest = size;
        place = i;
      }
    }
    if (largest == 0 || !std::isfinite(largest)) continue;
    T squares = 0;
    for (Index i = 0; i < n; ++i) {
      re[i] /= largest;
      im[i] /= largest;
      squares += re[i] * re[i] + im[i] * im[i];
    }
    const T size = size_of(Number<T>{re[place], im[place]}), length = std::sqrt(squares);
    const Number<T> turn{re[place] / (size * length), -im[place] / (size * length)};
    for (Index i = 0; i < n; ++i) {
      const Number<T> turned = Number<T>{re[i], im[i]} * turn;
      re[i] = turned.re;
      im[i] = turned.im;
    }
    im[place] = 0;
  }
}

}  // namespace tyto::cpu::linalg
