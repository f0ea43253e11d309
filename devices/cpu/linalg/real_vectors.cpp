// SPDX-License-Identifier: MIT
// Eigenvectors of real Schur forms by back substitution, several of them together, so that the form is read fewer
// times.
#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/complex_parts.hpp"
#include "devices/cpu/linalg/real_general.hpp"

namespace tyto::cpu::linalg {

namespace {

constexpr Index most_together = 17;

template <class T>
class SchurVectors {
 public:
  SchurVectors(const VectorLoops<T>& loops, const Matrix<T>& t, const T* re, const T* im, const Matrix<T>& x)
      : loops_(loops), t_(t), re_(re), im_(im), x_(x) {
    T norm = 0;
    for (Index row = 0; row < t.rows; ++row) {
      for (Index column = std::max<Index>(row - 1, 0); column < t.rows; ++column) {
        norm = std::max(norm, std::abs(t(row, column)));
        if (t(row, column) != 0) reach_ = std::max(reach_, column - row);
      }
    }
    least_ = std::max(std::numeric_limits<T>::epsilon() * norm, std::numeric_limits<T>::min());
  }

  /// The vectors of the eigenvalues [begin, end), which part no pair.
  void solve(Index begin, Index end) noexcept {
    std::fill_n(x_.row(begin), (end - begin) * x_.row_step, T(0));
    for (Index k = begin; k < end; ++k) {
      if (im_[k] == 0) x_(k, k) = 1;
      else if (im_[k] > 0) start_pair(k);
    }
    T sums[2][most_together];
    for (Index i = end; i-- > 0;) {
      const Index height = i > 0 && t_(i, i - 1) != 0 ? 2 : 1, top = i - height + 1;
      for (Index row = 0; row < height; ++row) {
        loops_.multiply(end - begin, std::min(end - i - 1, reach_), x_.row(begin) + i + 1, x_.row_step,
                        t_.row(top + row) + i + 1, sums[row]);
      }
      for (Index k = std::max(begin, i + 1); k < end; ++k) {
        const bool pair = im_[k] != 0;
        const auto sum = [&](Index row) {
          return Number<T>{-sums[row][k - begin], pair ? -sums[row][k + 1 - begin] : T(0)};
        };
        if (height == 1) put(k, pair, i, sum(0) / guarded({t_(i, i) - re_[k], -im_[k]}));
        else solve_two(k, pair, top, sum(0), sum(1));
        if (pair) ++k;
      }
      i = top;
    }
  }

 private:
  /// Where both elements of a vector of a pair lie.
  void start_pair(Index k) noexcept {
    const T a = t_(k, k), b = t_(k, k + 1), c = t_(k + 1, k), d = t_(k + 1, k + 1);
    if (std::abs(b) >= std::abs(c)) {
      x_(k, k) = 1;
      x_(k, k + 1) = (re_[k] - a) / b;
      x_(k + 1, k + 1) = im_[k] / b;
    } else {
      x_(k, k + 1) = 1;
      x_(k, k) = (re_[k] - d) / c;
      x_(k + 1, k) = im_[k] / c;
    }
  }

  Number<T> guarded(Number<T> divisor) const noexcept {
    return rough_size(divisor) < least_ ? Number<T>{least_, T(0)} : divisor;
  }

  // By elimination with the larger element of the first column.
  void solve_two(Index k, bool pair, Index top, Number<T> first, Number<T> second) noexcept {
    Number<T> a{t_(top, top) - re_[k], -im_[k]}, b{t_(top, top + 1), T(0)}, c{t_(top + 1, top), T(0)},
        d{t_(top + 1, top + 1) - re_[k], -im_[k]};
    if (rough_size(a) < rough_size(c)) {
      std::swap(a, c);
      std::swap(b, d);
      std::swap(first, second);
    }
    const Number<T> ratio = c / a;
    const Number<T> lower = (second - ratio * first) / guarded(d - ratio * b);
    const Number<T> upper = (first - b * lower) / a;
    set_element(k, pair, top, upper);
    set_element(k, pair, top + 1, lower);
    bound(k, pair, top, std::max(rough_size(upper), rough_size(lower)));
  }

  void put(Index k, bool pair, Index i, Number<T> element) noexcept {
    set_element(k, pair, i, element);
    bound(k, pair, i, rough_size(element));
  }

  void set_element(Index k, bool pair, Index i, Number<T> element) noexcept {
    x_(k, i) = element.re;
    if (pair) x_(k + 1, i) = element.im;
  }

  /// Makes a vector shorter whose last element would soon overflow.
  void bound(Index k, bool pair, Index from, T size) noexcept {
    const T far = std::sqrt(std::numeric_limits<T>::max()) / 4;
    if (!(size > far) || !std::isfinite(size)) return;
    for (Index row = k; row < k + (pair ? 2 : 1); ++row) {
      for (Index column = from; column < x_.columns; ++column) x_(row, column) /= size;
    }
  }

  const VectorLoops<T>& loops_;
  Matrix<T> t_;
  const T *re_, *im_;
  Matrix<T> x_;
  T least_;
  Index reach_ = 0;  // how far elements of the form lie from its diagonal
};

}  // namespace

template <class T>
void solve_for_schur_vectors(const VectorLoops<T>& loops, const Matrix<T>& t, const T* values_re, const T* values_im,
                             const Matrix<T>& x) noexcept {
  SchurVectors<T> vectors(loops, t, values_re, values_im, x);
  for (Index end = t.rows; end > 0;) {
    Index begin = std::max<Index>(end - most_together + 1, 0);
    if (begin > 0 && values_im[begin] < 0) --begin;
    vectors.solve(begin, end);
    end = begin;
  }
}

#define TYTO_INSTANTIATE(T)                                                                             \
  template void solve_for_schur_vectors<T>(const VectorLoops<T>&, const Matrix<T>&, const T*, const T*, \
                                           const Matrix<T>&) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
