// SPDX-License-Identifier: MIT
// Divide and conquer for tridiagonal matrices (Cuppen): the halves are solved apart and joined by a change of rank one,
// whose eigenvalues are roots of the secular equation. Eigenvectors are made from the change that has exactly the roots
// found (Gu and Eisenstat), which keeps them orthogonal.
#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/tridiagonal.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Halves so small are solved by iteration.
constexpr std::int64_t leaf = 32;

template <class T>
constexpr T epsilon = std::numeric_limits<T>::epsilon() / 2;

/// A root of 1 / weight + sum of squares[j] / (poles[j] - root), told by its distance from the nearest pole.
template <class T>
struct Root {
  std::int64_t origin = 0;
  T distance = 0;
};

/// The equation for ascending poles; it has a root behind each of them.
template <class T>
class SecularEquation {
 public:
  SecularEquation(std::int64_t count, const T* poles, const T* squares, T weight)
      : count_(count), poles_(poles), squares_(squares), constant_(1 / weight), reach_(0) {
    for (std::int64_t j = 0; j < count; ++j) reach_ += squares[j];
    reach_ *= weight;
  }

  Root<T> root(std::int64_t index) const noexcept {
    if (count_ == 1) return {0, reach_};
    const bool last = index + 1 == count_;
    // The two poles between which the equation is taken for two fractions and a constant (the middle way of Li).
    const std::int64_t near = std::min(index, count_ - 2), far = near + 1;
    T low = 0, high = reach_;
    std::int64_t origin = index;
    if (!last) {
      const T half = (poles_[far] - poles_[near]) / 2;
      high = half;
      if (evaluate(index, half, near).value < 0) {
        origin = far;
        low = -half;
        high = 0;
      }
    }
    T at = (low + high) / 2;
    for (int step = 0; step < 100; ++step) {
      const Value here = evaluate(origin, at, near);
      if (std::abs(here.value) <= 4 * epsilon<T> * here.size) break;
      (here.value < 0 ? low : high) = at;
      const T next = at + change(here, distance(near, origin) - at, distance(far, origin) - at, last);
      const T middle = (low + high) / 2;
      const T chosen = next > low && next < high ? next : middle;
      if (chosen == at || middle == low || middle == high) break;
      at = chosen;
    }
    return {origin, at};
  }

 private:
  struct Value {
    T value = 0;
    T size = 0;        // the sum of magnitudes, of which the value has rounding errors
    T left_slope = 0;  // of the poles up to `near`
    T right_slope = 0;
  };

  T distance(std::int64_t pole, std::int64_t origin) const noexcept { return poles_[pole] - poles_[origin]; }

  Value evaluate(std::int64_t origin, T at, std::int64_t near) const noexcept {
    Value found;
    T left = 0, right = 0, size = 0;
    const auto add = [&](std::int64_t j, T& sum, T& slope) {
      const T inverse = 1 / (distance(j, origin) - at), term = squares_[j] * inverse;
      sum += term;
      size += std::abs(term);
      slope += term * inverse;
    };
    for (std::int64_t j = 0; j <= near; ++j) add(j, left, found.left_slope);
    for (std::int64_t j = near + 1; j < count_; ++j) add(j, right, found.right_slope);
    found.value = constant_ + left + right;
    found.size = constant_ + size;
    return found;
  }

  /// The next step of the root's iteration, where the poles lie at distances p and q.
  static T change(const Value& here, T p, T q, bool last) noexcept {
    const T c = here.value - p * here.left_slope - q * here.right_slope;
    const T a = (p + q) * here.value - p * q * (here.left_slope + here.right_slope), b = p * q * here.value;
    const T root = std::sqrt(std::abs(a * a - 4 * b * c));
    T found = 0;
    if (last) {
      found = a >= 0 ? (a + root) / (2 * std::abs(c)) : 2 * b / (a - root);
    } else {
      found = a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
    }
    // The equation rises everywhere between poles; where the model says otherwise, its slope is followed.
    if (!(found * here.value < 0)) found = -here.value / (here.left_slope + here.right_slope);
    return found;
  }

  std::int64_t count_;
  const T* poles_;
  const T* squares_;
  T constant_;
  T reach_;  // how far behind the last pole its root may lie
};

template <class T>
class Division {
 public:
  Division(const KernelContext<T>& context, T* d, T* e, const Matrix<T>& x, T* workspace)
      : context_(context), d_(d), e_(e), x_(x), size_(x.rows), gathered_(dense(workspace, size_, size_)) {
    coefficients_ = gathered_.row(size_);
    T* lines = coefficients_ + size_ * size_;
    for (T** each : {&z_, &poles_, &squares_, &values_, &grouped_, &weights_}) {
      *each = lines;
      lines += size_;
    }
    for (std::int32_t** each : {&order_, &kept_, &extent_, &place_}) {
      *each = reinterpret_cast<std::int32_t*>(lines);
      lines += size_;
    }
    rotations_ = lines;
  }

  static std::int64_t workspace(std::int64_t size) noexcept {
    return 2 * size * size + 10 * size + RotationSweeps<T>::workspace(leaf);
  }

  bool solve(std::int64_t begin, std::int64_t end) noexcept {
    if (end - begin <= leaf) return iterate(begin, end);
    const std::int64_t middle = begin + (end - begin) / 2;
    const T beside = e_[middle - 1];
    d_[middle - 1] -= std::abs(beside);
    d_[middle] -= std::abs(beside);
    if (!solve(begin, middle) || !solve(middle, end)) return false;
    join(begin, middle, end, beside);
    return true;
  }

 private:
  enum Extent : std::int32_t { first_half, both_halves, second_half };

  bool iterate(std::int64_t begin, std::int64_t end) noexcept {
    const auto block = x_.part(begin, begin, end - begin, end - begin);
    set_identity(block);
    RotationSweeps<T> rotations(context_, block, rotations_);
    if (!iterate_tridiagonal(end - begin, d_ + begin, e_ + begin, rotations)) return false;
    rotations.flush();
    return true;
  }

  /// Deflation: whether the element of z for value i is so small that i is an eigenvalue as it is; else the value kept
  /// before it may be so near that a rotation of the two makes it one.
  std::int64_t deflate(std::int64_t begin, std::int64_t middle, std::int64_t end, T weight) noexcept {
    T largest = 0;
    for (std::int64_t i = begin; i < end; ++i) largest = std::max({largest, std::abs(d_[i]), std::abs(z_[i])});
    const T little = 8 * epsilon<T> * largest;
    std::int64_t kept = 0, rest = size_;  // what is not kept is listed from the end
    std::int32_t before = -1;
    for (std::int64_t place = begin; place < end; ++place) {
      const std::int32_t i = order_[place];
      extent_[i] = i < middle ? first_half : second_half;
      if (weight * std::abs(z_[i]) <= little) {
        kept_[--rest] = i;
        continue;
      }
      if (before >= 0) {
        const T length = std::hypot(z_[i], z_[before]), c = z_[i] / length, s = -z_[before] / length;
        if (std::abs((d_[i] - d_[before]) * c * s) <= little) {
          z_[i] = length;
          turn(before, i, c, s, begin, end);
          if (extent_[i] != extent_[before]) extent_[i] = extent_[before] = both_halves;
          const T p = d_[before], q = d_[i];
          d_[before] = p * c * c + q * s * s;
          d_[i] = p * s * s + q * c * c;
          kept_[--rest] = before;
        } else {
          kept_[kept++] = before;
        }
      }
      before = i;
    }
    if (before >= 0) kept_[kept++] = before;
    return kept;
  }

  void turn(std::int64_t one, std::int64_t other, T c, T s, std::int64_t begin, std::int64_t end) noexcept {
    T *p = x_.row(one), *q = x_.row(other);
    for (std::int64_t i = begin; i < end; ++i) {
      const T above = p[i], below = q[i];
      p[i] = c * above + s * below;
      q[i] = c * below - s * above;
    }
  }

  void join(std::int64_t begin, std::int64_t middle, std::int64_t end, T beside) noexcept {
    // The change of rank one is weight * z z^T with z of length one.
    const T scale = std::sqrt(T(0.5)), weight = 2 * std::abs(beside);
    for (std::int64_t i = begin; i < middle; ++i) z_[i] = scale * x_(i, middle - 1);
    for (std::int64_t i = middle; i < end; ++i) z_[i] = std::copysign(scale, beside) * x_(i, middle);
    for (std::int64_t i = begin; i < end; ++i) order_[i] = static_cast<std::int32_t>(i);
    std::sort(order_ + begin, order_ + end,
              [&](std::int32_t i, std::int32_t j) { return d_[i] != d_[j] ? d_[i] < d_[j] : i < j; });
    for (std::int64_t i = begin; i < middle; ++i) std::fill(x_.row(i) + middle, x_.row(i) + end, T(0));
    for (std::int64_t i = middle; i < end; ++i) std::fill(x_.row(i) + begin, x_.row(i) + middle, T(0));
    const std::int64_t count = deflate(begin, middle, end, weight), size = end - begin;
    if (count == 0) return;

    // Vectors of one half are zero in the other: grouped, they are multiplied for their own half only.
    std::int64_t starts[] = {0, 0, 0, 0};
    for (const Extent extent : {first_half, both_halves, second_half}) {
      std::int64_t next = starts[extent];
      for (std::int64_t j = 0; j < count; ++j) {
        if (extent_[kept_[j]] == extent) place_[j] = static_cast<std::int32_t>(next++);
      }
      starts[extent + 1] = next;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int32_t from = kept_[j];
      poles_[j] = d_[from];
      squares_[j] = z_[from] * z_[from];
      grouped_[place_[j]] = d_[from];
      std::copy(x_.row(from) + begin, x_.row(from) + end, gathered_.row(place_[j]));
    }
    for (std::int64_t j = count; j < size; ++j) {
      const std::int32_t from = kept_[size_ - 1 - (j - count)];
      values_[j] = d_[from];
      std::copy(x_.row(from) + begin, x_.row(from) + end, gathered_.row(j));
    }
    const auto vectors = dense(coefficients_, count, count);
    find_roots(count, weight, vectors);
    make_vectors(count, vectors);

    const std::int64_t left = middle - begin, right = end - middle;
    for (std::int64_t j = 0; j < size; ++j) {
      d_[begin + j] = values_[j];
      T* to = x_.row(begin + j) + begin;
      if (j < count) {
        std::fill_n(to, size, T(0));
      } else {
        std::copy_n(gathered_.row(j), size, to);
      }
    }
    const auto in_first = starts[second_half], off_first = starts[both_halves];
    add_product<T>(context_, vectors.part(0, 0, count, in_first), gathered_.part(0, 0, in_first, left),
                   x_.part(begin, begin, count, left));
    add_product<T>(context_, vectors.part(0, off_first, count, count - off_first),
                   gathered_.part(off_first, left, count - off_first, right), x_.part(begin, middle, count, right));
  }

  /// Values, and the distances pole - value, a row for each value.
  void find_roots(std::int64_t count, T weight, const Matrix<T>& distances) noexcept {
    const SecularEquation<T> equation(count, poles_, squares_, weight);
    for (std::int64_t i = 0; i < count; ++i) {
      const Root<T> root = equation.root(i);
      values_[i] = poles_[root.origin] + root.distance;
      T* row = distances.row(i);
      for (std::int64_t j = 0; j < count; ++j) row[j] = (grouped_[j] - poles_[root.origin]) - root.distance;
    }
  }

  void make_vectors(std::int64_t count, const Matrix<T>& vectors) noexcept {
    std::fill_n(weights_, count, T(-1));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t own = place_[i];
      const T *row = vectors.row(i), pole = grouped_[own];
      for (std::int64_t j = 0; j < own; ++j) weights_[j] *= row[j] / (grouped_[j] - pole);
      weights_[own] *= row[own];
      for (std::int64_t j = own + 1; j < count; ++j) weights_[j] *= row[j] / (grouped_[j] - pole);
    }
    for (std::int64_t j = 0; j < count; ++j) {
      T& weight = weights_[place_[j]];
      weight = std::copysign(std::sqrt(std::max(weight, T(0))), z_[kept_[j]]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      T* row = vectors.row(i);
      for (std::int64_t j = 0; j < count; ++j) row[j] = weights_[j] / row[j];
      const T inverse = 1 / std::sqrt(context_.loops->dot(count, row, row));
      for (std::int64_t j = 0; j < count; ++j) row[j] *= inverse;
    }
  }

  const KernelContext<T>& context_;
  T* d_;
  T* e_;
  Matrix<T> x_;
  std::int64_t size_;
  Matrix<T> gathered_;
  T* coefficients_;
  T *z_, *poles_, *squares_, *values_, *grouped_, *weights_;
  std::int32_t *order_, *kept_, *extent_, *place_;
  T* rotations_;
};

}  // namespace

std::int64_t division_workspace(std::int64_t size) noexcept { return Division<double>::workspace(size); }

template <class T>
bool divide_tridiagonal(const KernelContext<T>& context, T* d, T* e, Matrix<T> x, T* workspace) noexcept {
  return Division<T>(context, d, e, x, workspace).solve(0, x.rows);
}

#define TYTO_INSTANTIATE(T) \
  template bool divide_tridiagonal<T>(const KernelContext<T>&, T*, T*, Matrix<T>, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
