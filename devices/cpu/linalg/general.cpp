// Eigenvalues of general matrices: balanced, reduced to Hessenberg form by reflections, to a triangle by QR steps with
// Wilkinson's shift (Golub and Van Loan, Matrix Computations, 7.4 and 7.5), all in complex numbers whose parts lie in
// matrices of their own.
#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/complex_reflections.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
Number<T> root(Number<T> a) {
  const T size = size_of(a);
  if (size == 0) return {};
  const T large = std::sqrt((size + std::abs(a.re)) / 2), small = std::abs(a.im) / (2 * large);
  return a.re >= 0 ? Number<T>{large, std::copysign(small, a.im)} : Number<T>{small, std::copysign(large, a.im)};
}

/// Rows and columns scaled by powers of two until they are about as long as each other; factors[i] is that of column i.
template <class T>
void balance(const Parts<T>& a, T* factors) {
  const Index n = a.re.rows;
  std::fill_n(factors, n, T(1));
  for (bool changed = true; changed;) {
    changed = false;
    for (Index i = 0; i < n; ++i) {
      T row = 0, column = 0;
      for (Index j = 0; j < n; ++j) {
        if (j == i) continue;
        row += rough_size(get(a, i, j));
        column += rough_size(get(a, j, i));
      }
      if (row == 0 || column == 0 || !std::isfinite(row + column)) continue;
      const T before = row + column;
      T factor = 1;
      for (; column < row / 2; column *= 4) factor *= 2;
      for (; column >= row * 2; column /= 4) factor /= 2;
      if ((column + row) / factor >= T(0.95) * before) continue;
      changed = true;
      factors[i] *= factor;
      for (Index j = 0; j < n; ++j) {
        set(a, i, j, {a.re(i, j) / factor, a.im(i, j) / factor});
        set(a, j, i, {a.re(j, i) * factor, a.im(j, i) * factor});
      }
    }
  }
}

template <class T>
bool is_finite(Index count, Vector<T> v) {
  return std::all_of(v.re, v.re + count, [](T x) { return std::isfinite(x); }) &&
         std::all_of(v.im, v.im + count, [](T x) { return std::isfinite(x); });
}

/// Zeros below the first subdiagonal; the reflections, transposed, go into `turned` where it is there.
template <class T>
void reduce_to_hessenberg(const VectorLoops<T>& loops, const Parts<T>& a, const Parts<T>* turned, T* room) {
  const Index n = a.re.rows;
  const ReflectionRoom<T> tools(room, n);
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

/// The rotation that makes the second of two numbers zero.
template <class T>
ComplexTurn<T> turn_of(Number<T> a, Number<T> b) {
  const T first = size_of(a), second = size_of(b);
  if (second == 0) return {};
  if (first == 0) return {0, b.re / second, -b.im / second};
  const T length = std::hypot(first, second);
  const Number<T> phase{a.re / first, a.im / first};
  const Number<T> sine = phase * Number<T>{b.re / length, -b.im / length};
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

  /// Room for the turns of the next sweep.
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

/// The eigenvalue of the last two rows and columns of [.., last] that is nearer to the last element.
template <class T>
Number<T> wilkinson_shift(const Parts<T>& h, Index last) {
  const Number<T> a = get(h, last - 1, last - 1), d = get(h, last, last);
  const Number<T> product = get(h, last - 1, last) * get(h, last, last - 1);
  const Number<T> half{(a.re - d.re) / 2, (a.im - d.im) / 2};
  Number<T> distance = root(half * half + product);
  if (half.re * distance.re + half.im * distance.im < 0) distance = Number<T>{} - distance;
  const Number<T> divisor = half + distance;
  return rough_size(divisor) == 0 ? d : d - product / divisor;
}

/// Hessenberg form to a triangle. The whole of it is made only where vectors are wanted.
template <class T>
bool reduce_to_triangle(const VectorLoops<T>& loops, const Parts<T>& h, const Parts<T>* turned, T* room) {
  const Index n = h.re.rows;
  DelayedSweeps<T> sweeps(loops, turned, reinterpret_cast<ComplexTurn<T>*>(room), n);
  T* const columns = room + 3 * n * DelayedSweeps<T>::most;
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  constexpr int most_steps = 60;
  int steps = 0;
  for (Index last = n - 1; last > 0;) {
    Index first = last;
    for (; first > 0; --first) {
      const T below = rough_size(get(h, first, first - 1));
      T around = rough_size(get(h, first - 1, first - 1)) + rough_size(get(h, first, first));
      if (around == 0) around = 1;
      if (below <= epsilon * around || below < std::numeric_limits<T>::min()) break;
    }
    if (first > 0) set(h, first, first - 1, {});
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > most_steps) return false;
    Number<T> shift = wilkinson_shift(h, last);
    // Shifts that go round in circles are left by one that has nothing to do with them.
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

std::int64_t general_room(std::int64_t size, bool vectors) noexcept {
  const Index sweeps = 3 * size * DelayedSweeps<double>::most + 2 * rows_at_once * (size + 1);
  return size + std::max(7 * size, sweeps) + (vectors ? 4 * size * size : 0);
}

template <class T>
bool decompose_general(const Bench<T>& bench, Parts<T> a, T* values_re, T* values_im, const Parts<T>* vectors,
                       T* room) noexcept {
  const Index n = a.re.rows;
  T* const factors = room;
  room += n;
  Parts<T> q, x;
  if (vectors != nullptr) {
    q = {dense(room, n, n), dense(room + n * n, n, n)};
    x = {dense(room + 2 * n * n, n, n), dense(room + 3 * n * n, n, n)};
    room += 4 * n * n;
    set_identity(q.re);
    std::fill_n(q.im.first, n * n, T(0));
  }
  const Parts<T>* const turned = vectors != nullptr ? &q : nullptr;
  balance(a, factors);
  reduce_to_hessenberg(*bench.loops, a, turned, room);
  if (!reduce_to_triangle(*bench.loops, a, turned, room)) return false;
  for (Index i = 0; i < n; ++i) {
    values_re[i] = a.re(i, i);
    values_im[i] = a.im(i, i);
  }
  if (vectors == nullptr) return true;
  solve_for_vectors(*bench.loops, a, x);
  std::fill_n(vectors->re.first, n * n, T(0));
  std::fill_n(vectors->im.first, n * n, T(0));
  add_product<T>(bench, x.re, q.re, vectors->re);
  add_product<T>(bench, x.im, q.im, vectors->re, Sign::minus);
  add_product<T>(bench, x.re, q.im, vectors->im);
  add_product<T>(bench, x.im, q.re, vectors->im);
  normalise_rows(*vectors, factors);
  return true;
}

template bool decompose_general(const Bench<float>&, Parts<float>, float*, float*, const Parts<float>*,
                                float*) noexcept;
template bool decompose_general(const Bench<double>&, Parts<double>, double*, double*, const Parts<double>*,
                                double*) noexcept;

}  // namespace tyto::cpu::linalg
