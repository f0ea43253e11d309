// SPDX-License-Identifier: MIT
// The real Schur form of Hessenberg matrices: Francis' double steps (Golub and Van Loan, Matrix Computations, 7.5), of
// which several follow one another closely through a large matrix (Braman, Byers and Mathias, The multishift QR
// algorithm I, 2002), so that what lies beside the diagonal is changed by many reflections while it is in the caches.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "devices/cpu/linalg/complex_parts.hpp"
#include "devices/cpu/linalg/deflation.hpp"
#include "devices/cpu/linalg/real_general.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Most double steps that follow one another, and steps that they take before what lies beside them is changed.
constexpr Index most_bulges = 8;
constexpr Index steps_together = 64;
constexpr Index most_shifts = 2 * most_bulges;

/// Properties of a 2 x 2 matrix: half the difference of its diagonal elements, the product of the others over `scale`,
/// and the squared distance of the eigenvalues over four times `scale`. The scale is the largest of the numbers, so
/// that no product underflows that matters (as LAPACK's lanv2).
template <class T>
struct Discriminant {
  T half, scale, product = 0, square = 0;

  Discriminant(T a, T b, T c, T d) noexcept
      : half((a - d) / 2), scale(std::max({std::abs(half), std::abs(b), std::abs(c)})) {
    if (scale == 0) return;
    product = std::abs(b) > std::abs(c) ? (b / scale) * c : (c / scale) * b;
    square = (half / scale) * half + product;
  }
  T root() const noexcept { return std::sqrt(scale) * std::sqrt(std::abs(square)); }
  /// From d to the real eigenvalue that is farther away.
  T distance() const noexcept { return half + std::copysign(root(), half); }
};

/// The eigenvalues of a matrix of two rows, complex ones with the positive imaginary part first, of real ones the
/// one farther from d first.
template <class T>
std::pair<Number<T>, Number<T>> eigenvalues_of(T a, T b, T c, T d) noexcept {
  const Discriminant<T> of(a, b, c, d);
  if (of.square < 0) {
    const T middle = d + of.half, root = of.root();
    return {{middle, root}, {middle, -root}};
  }
  const T distance = of.distance(), first = d + distance;
  // A product of zero leaves d, however small the distance is.
  const T second = of.product != 0 ? d - of.product * (of.scale / distance) : d;
  return {{first, 0}, {second, 0}};
}

/// v, its first element one but where the vector is zero, and factor of the reflection that takes x to (beta, 0, 0).
template <class T>
T reflect_triple(const T (&x)[3], TripleReflection<T>& r) noexcept {
  r.v[0] = 1;
  r.v[1] = r.v[2] = r.factor = 0;
  if (x[1] == 0 && x[2] == 0) return x[0];
  const T largest = std::max({std::abs(x[0]), std::abs(x[1]), std::abs(x[2])});
  const T a = x[0] / largest, b = x[1] / largest, c = x[2] / largest;
  const T beta = -std::copysign(std::sqrt(a * a + b * b + c * c), a);
  r.v[1] = b / (a - beta);
  r.v[2] = c / (a - beta);
  r.factor = (beta - a) / beta;
  return beta * largest;
}

template <class T>
class SchurIteration {
 public:
  SchurIteration(const VectorLoops<T>& loops, const Matrix<T>& h, const Matrix<T>& turned, T* floors, T* workspace)
      : loops_(loops), h_(h), turned_(turned), whole_(turned.first != nullptr), floors_(floors), workspace_(workspace) {
    find_floors<T>(
        h.rows, [&](Index row, Index column) { return std::abs(h(row, column)); }, floors);
  }

  bool run() noexcept {
    const Index size = h_.rows;
    Index steps = 0;  // since the last eigenvalue
    Index left = most_qr_steps(size);
    for (Index last = size - 1; last >= 0;) {
      const Index first = first_of_block(last);
      if (first == last) {
        --last;
        steps = 0;
        continue;
      }
      if (first == last - 1) {
        separate(first);
        last -= 2;
        steps = 0;
        continue;
      }
      if (left-- == 0) return false;
      ++steps;
      Number<T> shifts[most_shifts];
      const Index count = choose_shifts(first, last, steps, shifts);
      if (count == 0) return false;
      sweep(first, last, shifts, count / 2);
    }
    return true;
  }

 private:
  bool stands_apart(Index k) const noexcept {
    const Subdiagonal<T> at{std::abs(h_(k, k - 1)),
                            std::abs(h_(k - 1, k)),
                            std::abs(h_(k - 1, k - 1)),
                            std::abs(h_(k, k)),
                            std::abs(h_(k - 1, k - 1) - h_(k, k)),
                            k > 1 ? std::abs(h_(k - 1, k - 2)) : T(0),
                            k + 1 < h_.rows ? std::abs(h_(k + 1, k)) : T(0)};
    return is_negligible(at, floors_[k]);
  }

  /// Where the block that ends with `last` begins; subdiagonal elements that are as good as zero become zero.
  Index first_of_block(Index last) noexcept {
    for (Index k = last; k > 0; --k) {
      if (!stands_apart(k)) continue;
      h_(k, k - 1) = 0;
      return k;
    }
    return 0;
  }

  /// Two rows whose eigenvalues are real become a triangle.
  void separate(Index k) noexcept {
    const Discriminant<T> of(h_(k, k), h_(k, k + 1), h_(k + 1, k), h_(k + 1, k + 1));
    if (of.square < 0) return;
    const T distance = of.distance(), below = h_(k + 1, k);
    const T length = std::hypot(distance, below);
    if (length == 0) return;
    const T cosine = distance / length, sine = below / length;
    const auto rotate = [&](T& x, T& y) {
      const T held = cosine * x + sine * y;
      y = cosine * y - sine * x;
      x = held;
    };
    const Index end = whole_ ? h_.rows : k + 2, top = whole_ ? 0 : k;
    for (Index column = k; column < end; ++column) rotate(h_(k, column), h_(k + 1, column));
    for (Index row = top; row < k + 2; ++row) rotate(h_(row, k), h_(row, k + 1));
    h_(k + 1, k) = 0;
    if (turned_.first == nullptr) return;
    for (Index column = 0; column < turned_.columns; ++column) rotate(turned_(k, column), turned_(k + 1, column));
  }

  static Index bulges_for(Index size) noexcept { return size < 48 ? 1 : size < 96 ? 2 : size < 192 ? 4 : most_bulges; }

  /// Shifts, in pairs of conjugates or of real numbers; none where elements are not finite.
  Index choose_shifts(Index first, Index last, Index steps, Number<T>* shifts) noexcept {
    if (!std::isfinite(h_(last, last)) || !std::isfinite(h_(last, last - 1))) return 0;
    // Exceptional shifts break cycles of shifts.
    if (steps % 10 == 0) return choose_other_shifts(last, shifts);
    const Index bulges = bulges_for(last - first + 1);
    if (bulges == 1) {
      const T corner = h_(last, last);
      auto [one, other] = eigenvalues_of<T>(h_(last - 1, last - 1), h_(last - 1, last), h_(last, last - 1), corner);
      if (one.im == 0) one = other = std::abs(one.re - corner) < std::abs(other.re - corner) ? one : other;
      shifts[0] = one;
      shifts[1] = other;
      return 2;
    }
    // The eigenvalues of the last rows and columns.
    const Index count = 2 * bulges;
    const auto corner = dense(workspace_, count, count);
    for (Index row = 0; row < count; ++row) {
      for (Index column = 0; column < count; ++column) {
        corner(row, column) = h_(last - count + 1 + row, last - count + 1 + column);
      }
    }
    T* const re = workspace_ + count * count;
    T* const im = re + count;
    if (!reduce_to_schur(loops_, corner, Matrix<T>{}, re, im, im + count)) return choose_other_shifts(last, shifts);
    Index pairs = 0;
    for (Index i = 0; i < count; ++i) {
      if (im[i] == 0) continue;
      shifts[pairs++] = {re[i], im[i]};
    }
    for (Index i = 0; i < count; ++i) {
      if (im[i] == 0) shifts[pairs++] = {re[i], 0};
    }
    return count;
  }

  Index choose_other_shifts(Index last, Number<T>* shifts) const noexcept {
    const T size = std::abs(h_(last, last - 1)) + std::abs(h_(last - 1, last - 2));
    const T middle = T(0.75) * size + h_(last, last);
    std::tie(shifts[0], shifts[1]) = eigenvalues_of<T>(middle, T(-0.4375) * size, size, middle);
    return 2;
  }

  /// The first column of (h - one)(h - other) from `first` on, but for its length.
  void first_column(Index first, Number<T> one, Number<T> other, T (&x)[3]) const noexcept {
    const T a = h_(first, first), b = h_(first, first + 1), c = h_(first + 1, first), d = h_(first + 1, first + 1);
    const T size = std::abs(a - other.re) + std::abs(other.im) + std::abs(c);
    if (size == 0) {
      x[0] = x[1] = x[2] = 0;
      return;
    }
    const T below = c / size;
    x[0] = below * b + (a - one.re) * ((a - other.re) / size) - one.im * (other.im / size);
    x[1] = below * (a + d - one.re - other.re);
    x[2] = below * h_(first + 2, first + 1);
  }

  /// Takes double steps down a block, three rows apart. Those that stand between two rows of a window take some steps
  /// within it; then the rest of these rows and columns is changed.
  void sweep(Index first, Index last, const Number<T>* shifts, Index bulges) noexcept {
    const Index end = whole_ ? h_.rows : last + 1, top = whole_ ? 0 : first;
    const Index behind = 3 * (bulges - 1), all_steps = last - first + behind;
    TripleReflection<T> list[steps_together * most_bulges];
    for (Index begin = 0; begin < all_steps; begin += steps_together) {
      const Index finish = std::min(begin + steps_together, all_steps);
      // `at` is the column that a step clears below the subdiagonal; first - 1 where a bulge is made.
      const Index window = std::max(first, first - 1 + begin - behind),
                  window_end = std::min(last + 1, first + finish + 3);
      Index count = 0;
      for (Index step = begin; step < finish; ++step) {
        for (Index bulge = 0; bulge < bulges; ++bulge) {
          const Index at = first - 1 + step - 3 * bulge;
          if (at < first - 1 || at > last - 2) continue;
          TripleReflection<T>& r = list[count];
          const Index rows = std::min<Index>(3, last - at);
          T x[3] = {};
          if (at < first) {
            first_column(first, shifts[2 * bulge], shifts[2 * bulge + 1], x);
          } else {
            for (Index i = 0; i < rows; ++i) x[i] = h_(at + 1 + i, at);
          }
          const T beta = reflect_triple(x, r);
          r.first = at + 1;
          if (at >= first) {
            h_(at + 1, at) = beta;
            for (Index i = 1; i < rows; ++i) h_(at + 1 + i, at) = 0;
          }
          if (r.factor == 0) continue;
          if (rows == 2) {  // there is no row behind: it is put before
            --r.first;
            r.v[2] = r.v[1];
            r.v[1] = 1;
            r.v[0] = 0;
          }
          ++count;
          const Index column = at + 1;
          loops_.reflect_rows(1, &r, window_end - column, h_.first + column, h_.row_step);
          reflect_window_columns(r, window, std::min(at + 5, last + 1));
        }
      }
      loops_.reflect_rows(count, list, end - window_end, h_.first + window_end, h_.row_step);
      loops_.reflect_columns(count, list, window - top, window, window_end, h_.row(top), h_.row_step, workspace_);
      if (turned_.first != nullptr) {
        loops_.reflect_rows(count, list, turned_.columns, turned_.first, turned_.row_step);
      }
    }
  }

  void reflect_window_columns(const TripleReflection<T>& r, Index begin, Index end) noexcept {
    const T a = r.v[0], b = r.v[1], c = r.v[2], factor = r.factor;
    T* x = h_.row(begin) + r.first;
    for (Index row = begin; row < end; ++row, x += h_.row_step) {
      const T share = factor * (a * x[0] + b * x[1] + c * x[2]);
      x[0] -= share * a;
      x[1] -= share * b;
      x[2] -= share * c;
    }
  }

  const VectorLoops<T>& loops_;
  Matrix<T> h_, turned_;
  bool whole_;
  T* floors_;
  T* workspace_;
};

}  // namespace

Index schur_workspace() noexcept {
  return reflected_together * (steps_together + 3 * most_bulges + 8) +
         most_shifts * (most_shifts + 2 + reflected_together);
}

template <class T>
bool reduce_to_schur(const VectorLoops<T>& loops, const Matrix<T>& h, const Matrix<T>& turned, T* values_re,
                     T* values_im, T* workspace) noexcept {
  const Index size = h.rows;
  // Until there are values, the floors of rows stand in their place.
  if (!SchurIteration<T>(loops, h, turned, values_re, workspace).run()) return false;
  for (Index k = 0; k < size; ++k) {
    if (k + 1 == size || h(k + 1, k) == 0) {
      values_re[k] = h(k, k);
      values_im[k] = 0;
      continue;
    }
    const auto [one, other] = eigenvalues_of<T>(h(k, k), h(k, k + 1), h(k + 1, k), h(k + 1, k + 1));
    values_re[k] = one.re;
    values_im[k] = one.im;
    values_re[k + 1] = other.re;
    values_im[k + 1] = other.im;
    ++k;
  }
  return true;
}

#define TYTO_INSTANTIATE(T) \
  template bool reduce_to_schur<T>(const VectorLoops<T>&, const Matrix<T>&, const Matrix<T>&, T*, T*, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
