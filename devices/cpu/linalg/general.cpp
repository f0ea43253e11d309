// SPDX-License-Identifier: MIT
// Eigenvalues of general matrices: balanced, reduced to Hessenberg form by reflections, to a triangle by QR steps with
// Wilkinson's shift (Golub and Van Loan, Matrix Computations, 7.4 and 7.5), all in complex numbers whose parts lie in
// matrices of their own.
#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/balance.hpp"
#include "devices/cpu/linalg/complex_reflections.hpp"
#include "devices/cpu/linalg/deflation.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
Number<T> root(Number<T> a) {
  const T size = size_of(a);
  if (size == 0) return {};
  const T large = std::sqrt((size + std::abs(a.re)) / 2), small = std::abs(a.im) / (2 * large);
  return a.re >= 0 ? Number<T>{large, std::copysign(small, a.im)} : Number<T>{small, std::copysign(large, a.im)};
}

template <class T>
bool is_finite(Index count, Vector<T> v) {
  return std::all_of(v.re, v.re + count, [](T x) { return std::isfinite(x); }) &&
         std::all_of(v.im, v.im + count, [](T x) { return std::isfinite(x); });
}

/// Zeros below the first subdiagonal; the reflections, transposed, go into `turned` where it is there.
template <class T>
void reduce_to_hessenberg(const VectorLoops<T>& loops, const Parts<T>& a, const Parts<T>* turned, T* workspace) {
  const Index n = a.re.rows;
  const ReflectionWorkspace<T> tools(workspace, n);
  const Vector<T>& v = tools.v;
  for (Index k = 0; k + 2 < n; ++k) {
    const Index height = n - k - 1;
    take_column(a, k + 1, k, v);
    if (!is_finite(height, v)) continue;
    Number<T> tau;
    set(a, k + 1, k, {reflect(height, v, tau), T(0)});
    for (Index r = 1; r < height; ++r) set(a, k + 1 + r, k, {});
    reflect_rows(loops, part(a, k + 1, k + 1, height, height), conjugate(tau), tools);
    reflect_columns(loops, part(a, 0, k + 1, n, height), tau, tools);
    if (turned == nullptr) continue;
    // q = q (1 - tau v v^H), transposed.
    for (Index r = 0; r < height; ++r) v.im[r] = -v.im[r];
    reflect_rows(loops, part(*turned, k + 1, 0, height, n), tau, tools);
  }
}

/// The rotation that makes the second of two numbers zero. Both are scaled, and the direction of the first is taken by
/// its own size: absolute values among the smallest numbers have no digits, and the rotation would not be one.
template <class T>
ComplexTurn<T> turn_of(Number<T> a, Number<T> b) {
  const T scale = std::max(rough_size(a), rough_size(b));
  if (rough_size(b) == 0) return {};
  const auto over = [](Number<T> x, T divisor) { return Number<T>{x.re / divisor, x.im / divisor}; };
  const Number<T> scaled = over(b, scale);
  const T second = size_of(scaled);
  if (rough_size(a) == 0) return {0, scaled.re / second, -scaled.im / second};
  const Number<T> direction = over(a, rough_size(a));
  const Number<T> phase = over(direction, size_of(direction));
  const T first = size_of(over(a, scale)), length = std::hypot(first, second);
  const Number<T> sine = phase * Number<T>{scaled.re / length, -scaled.im / length};
  return {first / length, sine.re, sine.im};
}

/// Sweeps of turns that are applied to the vectors together, strip by strip, so that a strip stays in the caches.
template <class T>
class DelayedSweeps {
 public:
  static constexpr Index most = 16;
  static constexpr Index strip = 64;

  DelayedSweeps(const VectorLoops<T>& loops, const Parts<T>* turned, ComplexTurn<T>* tables, Index size)
      : loops_(loops), turned_(turned), tables_(tables), size_(size) {}

  /// Workspace for the turns of the next sweep.
  ComplexTurn<T>* next() {
    if (count_ == most) flush();
    return tables_ + count_ * size_;
  }
  void add(Index first, Index last) {
    if (turned_ == nullptr) return;
    ranges_[count_] = {first, last};
    ++count_;
  }
  void flush() {
    for (Index column = 0; turned_ != nullptr && column < size_; column += strip) {
      const Index width = std::min(strip, size_ - column);
      for (Index sweep = 0; sweep < count_; ++sweep) {
        for (Index i = ranges_[sweep].first; i < ranges_[sweep].last; ++i) {
          ComplexTurn<T> turn = tables_[sweep * size_ + i];
          turn.sine_im = -turn.sine_im;
          loops_.rotate_complex(width, turn, turned_->re.row(i) + column, turned_->im.row(i) + column,
                                turned_->re.row(i + 1) + column, turned_->im.row(i + 1) + column);
        }
      }
    }
    count_ = 0;
  }

 private:
  struct Range {
    Index first, last;
  };
  const VectorLoops<T>& loops_;
  const Parts<T>* turned_;
  ComplexTurn<T>* tables_;
  Index size_;
  Range ranges_[most] = {};
  Index count_ = 0;
};

/// The eigenvalue of the last two rows and columns of [.., last] that is nearer to the last element. Squares are
/// scaled, so that they do not underflow.
template <class T>
Number<T> wilkinson_shift(const Parts<T>& h, Index last) {
  const Number<T> a = get(h, last - 1, last - 1), d = get(h, last, last);
  const Number<T> across = get(h, last - 1, last), below = get(h, last, last - 1), apart = a - d;
  const T scale = std::max({rough_size(apart), rough_size(across), rough_size(below)});
  if (scale == 0) return d;
  const auto scaled = [&](Number<T> x) { return Number<T>{x.re / scale, x.im / scale}; };
  const Number<T> half = scaled({apart.re / 2, apart.im / 2}), product = scaled(across) * scaled(below);
  Number<T> distance = root(half * half + product);
  if (half.re * distance.re + half.im * distance.im < 0) distance = Number<T>{} - distance;
  const Number<T> divisor = half + distance;
  if (rough_size(divisor) == 0) return d;
  const Number<T> step = product / divisor;
  return d - Number<T>{step.re * scale, step.im * scale};
}

/// Whether the subdiagonal element of row k is negligible.
template <class T>
bool stands_apart(const Parts<T>& h, Index k, T floor) {
  const auto size = [&](Index row, Index column) { return rough_size(get(h, row, column)); };
  const Subdiagonal<T> at{size(k, k - 1),
                          size(k - 1, k),
                          size(k - 1, k - 1),
                          size(k, k),
                          rough_size(get(h, k - 1, k - 1) - get(h, k, k)),
                          k > 1 ? size(k - 1, k - 2) : T(0),
                          k + 1 < h.re.rows ? size(k + 1, k) : T(0)};
  return is_negligible(at, floor);
}

/// Hessenberg form to a triangle. The whole of it is made only where vectors are wanted. There is a floor for each row.
template <class T>
bool reduce_to_triangle(const VectorLoops<T>& loops, const Parts<T>& h, const Parts<T>* turned, T* floors,
                        T* workspace) {
  const Index n = h.re.rows;
  DelayedSweeps<T> sweeps(loops, turned, reinterpret_cast<ComplexTurn<T>*>(workspace), n);
  T* const columns = workspace + 3 * n * DelayedSweeps<T>::most;
  find_floors<T>(
      n, [&](Index row, Index column) { return rough_size(get(h, row, column)); }, floors);
  Index left = most_qr_steps(n);
  Index steps = 0;  // since the last eigenvalue
  for (Index last = n - 1; last > 0;) {
    Index first = last;
    while (first > 0 && !stands_apart(h, first, floors[first])) --first;
    if (first > 0) set(h, first, first - 1, {});
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (left-- == 0) return false;
    ++steps;
    Number<T> shift = wilkinson_shift(h, last);
    // An exceptional shift breaks cycles of shifts.
    if (steps % 10 == 0) shift = {std::abs(h.re(last, last - 1)) + h.re(last, last), h.im(last, last)};
    if (!std::isfinite(rough_size(shift))) return false;
    const Index end = turned != nullptr ? n : last + 1, top = turned != nullptr ? 0 : first;
    for (Index i = first; i <= last; ++i) set(h, i, i, get(h, i, i) - shift);
    ComplexTurn<T>* const turns = sweeps.next();
    for (Index i = first; i < last; ++i) {
      turns[i] = turn_of(get(h, i, i), get(h, i + 1, i));
      loops.rotate_complex(end - i, turns[i], h.re.row(i) + i, h.im.row(i) + i, h.re.row(i + 1) + i,
                           h.im.row(i + 1) + i);
      set(h, i + 1, i, {});
    }
    loops.rotate_columns(top, last + 1, first, last, turns, h.re.first, h.im.first, h.re.row_step, columns);
    sweeps.add(first, last);
    for (Index i = first; i <= last; ++i) set(h, i, i, get(h, i, i) + shift);
  }
  sweeps.flush();
  return true;
}

/// Row k becomes the eigenvector of the triangle for its k-th diagonal element: zeros behind element k, a one there.
template <class T>
void solve_for_vectors(const VectorLoops<T>& loops, const Parts<T>& t, const Parts<T>& x) {
  const Index n = t.re.rows;
  T norm = 0;
  for (Index row = 0; row < n; ++row) {
    for (Index column = row; column < n; ++column) norm = std::max(norm, rough_size(get(t, row, column)));
  }
  const T least = std::max(std::numeric_limits<T>::epsilon() * norm, std::numeric_limits<T>::min());
  const T far = std::sqrt(std::numeric_limits<T>::max()) / 4;
  for (Index k = 0; k < n; ++k) {
    T* const re = x.re.row(k);
    T* const im = x.im.row(k);
    std::fill_n(re, n, T(0));
    std::fill_n(im, n, T(0));
    re[k] = 1;
    const Number<T> value = get(t, k, k);
    for (Index i = k; i-- > 0;) {
      const T* const row_re = t.re.row(i) + i + 1;
      const T* const row_im = t.im.row(i) + i + 1;
      const Index count = k - i;
      const Number<T> sum{loops.dot(count, row_re, re + i + 1) - loops.dot(count, row_im, im + i + 1),
                          loops.dot(count, row_re, im + i + 1) + loops.dot(count, row_im, re + i + 1)};
      Number<T> apart = value - get(t, i, i);
      if (rough_size(apart) < least) apart = {least, T(0)};
      const Number<T> element = sum / apart;
      re[i] = element.re;
      im[i] = element.im;
      const T size = rough_size(element);
      if (size > far && std::isfinite(size)) {
        for (Index j = i; j <= k; ++j) {
          re[j] /= size;
          im[j] /= size;
        }
      }
    }
  }
}

}  // namespace

std::int64_t general_workspace(std::int64_t size, bool vectors) noexcept {
  const Index sweeps = 3 * size * DelayedSweeps<double>::most + 2 * rows_at_once * (size + 1);
  return 2 * size + std::max(7 * size, sweeps) + (vectors ? 4 * size * size : 0);
}

template <class T>
bool decompose_general(const KernelContext<T>& context, Parts<T> a, T* values_re, T* values_im, const Parts<T>* vectors,
                       T* workspace) noexcept {
  const Index n = a.re.rows;
  const Balance<T> balanced{workspace, workspace + n};
  workspace += 2 * n;
  Parts<T> q, x;
  if (vectors != nullptr) {
    q = {dense(workspace, n, n), dense(workspace + n * n, n, n)};
    x = {dense(workspace + 2 * n * n, n, n), dense(workspace + 3 * n * n, n, n)};
    workspace += 4 * n * n;
    set_identity(q.re);
    std::fill_n(q.im.first, n * n, T(0));
  }
  const Parts<T>* const turned = vectors != nullptr ? &q : nullptr;
  balance(BalancedElements<T, 2>(a.re, a.im), balanced);
  reduce_to_hessenberg(*context.loops, a, turned, workspace);
  // Until there are values, the floors of rows stand in their place.
  if (!reduce_to_triangle(*context.loops, a, turned, values_re, workspace)) return false;
  for (Index i = 0; i < n; ++i) {
    values_re[i] = a.re(i, i);
    values_im[i] = a.im(i, i);
  }
  if (vectors == nullptr) return true;
  solve_for_vectors(*context.loops, a, x);
  std::fill_n(vectors->re.first, n * n, T(0));
  std::fill_n(vectors->im.first, n * n, T(0));
  add_product<T>(context, x.re, q.re, vectors->re);
  add_product<T>(context, x.im, q.im, vectors->re, Sign::minus);
  add_product<T>(context, x.re, q.im, vectors->im);
  add_product<T>(context, x.im, q.re, vectors->im);
  unbalance_rows(*vectors, balanced, workspace);
  return true;
}

template bool decompose_general(const KernelContext<float>&, Parts<float>, float*, float*, const Parts<float>*,
                                float*) noexcept;
template bool decompose_general(const KernelContext<double>&, Parts<double>, double*, double*, const Parts<double>*,
                                double*) noexcept;

}  // namespace tyto::cpu::linalg
