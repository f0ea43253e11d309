// SPDX-License-Identifier: MIT
// The implicit QR iteration on a tridiagonal matrix, with Wilkinson's shift; for eigenvalues alone its form without
// square roots (Parlett, The Symmetric Eigenvalue Problem, 8.15).
#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/tridiagonal.hpp"

namespace tyto::cpu::linalg {

namespace {

/// One sweep of the implicit QR iteration over the rows [begin, end].
template <class T>
void sweep(T* d, T* e, std::int64_t begin, std::int64_t end, RotationSweeps<T>& rotations) noexcept {
  const T half = (d[end - 1] - d[end]) / 2, beside = e[end - 1];
  const T shift = d[end] - beside * (beside / (half + std::copysign(std::hypot(half, beside), half)));
  T x = d[begin] - shift, z = e[begin];
  rotations.begin(begin);
  for (std::int64_t k = begin; k < end; ++k) {
    const Rotation<T> turn = rotation_of(x, z);
    const T c = turn.c, s = turn.s;
    if (k > begin) e[k - 1] = turn.length;
    const T p = d[k], q = d[k + 1], r = e[k];
    const T move = s * (s * (q - p) + 2 * c * r);
    d[k] = p + move;
    d[k + 1] = q - move;
    e[k] = c * s * (q - p) + (c - s) * (c + s) * r;
    if (k + 1 < end) {
      x = e[k];
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    rotations.add(turn);
  }
}

/// One such sweep over the rows [begin, end] from the end, the squares of what lies beside the diagonal in `e`.
template <class T>
void rootless_sweep(T* d, T* e, std::int64_t begin, std::int64_t end) noexcept {
  const T root = std::sqrt(e[begin]), half = (d[begin + 1] - d[begin]) / (2 * root);
  const T shift = d[begin] - root / (half + std::copysign(std::hypot(half, T(1)), half));
  constexpr T least = std::numeric_limits<T>::min();
  T cosine = 1, sine = 0, gamma = d[end] - shift, p = gamma * gamma;
  if (p < least) p = 0;
  for (std::int64_t i = end; i-- > begin;) {
    const T square = e[i], r = p + square;
    if (i + 1 < end) e[i + 1] = sine * r;
    // Divided before gamma is known: two divisions would wait for each other.
    const T last_cosine = cosine, last_gamma = gamma, inverse = r / p;
    cosine = p / r;
    sine = square / r;
    gamma = cosine * (d[i] - shift) - sine * last_gamma;
    d[i + 1] = last_gamma + (d[i] - gamma);
    p = cosine != 0 ? gamma * gamma * inverse : last_cosine * square;
    if (p < least) p = 0;  // among the smallest numbers its quotients overflow
  }
  e[begin] = sine * p;
  d[begin] = shift + gamma;
}

/// The unit of rounding, and its square: elements beside the diagonal that are no larger than the square of it times
/// the largest element of their block count as zero whatever is beside them. The rounding errors that are left of a
/// matrix of low rank shrink along the diagonal until a sweep underflows and changes nothing.
template <class T>
constexpr T unit = std::numeric_limits<T>::epsilon() / 2;
template <class T>
constexpr T square_of_unit = unit<T>* unit<T>;

/// The largest absolute value among the elements of rows [begin, end), a block that no zero divides.
template <class T>
T largest_of(std::int64_t begin, std::int64_t end, const T* d, const T* e) noexcept {
  T largest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    largest = std::max({largest, std::abs(d[i]), i > begin ? std::abs(e[i - 1]) : T(0)});
  }
  return largest;
}

/// Calls f(begin, end) for the rows between zeros beside the diagonal, and is false where f is.
template <class T, class F>
bool for_each_block(std::int64_t size, const T* e, const F& f) noexcept {
  for (std::int64_t begin = 0; begin < size;) {
    std::int64_t end = begin + 1;
    while (end < size && e[end - 1] != 0) ++end;
    if (!f(begin, end)) return false;
    begin = end;
  }
  return true;
}

/// Eigenvalues of rows that no zero parts, in place of d.
template <class T>
bool block_eigenvalues(std::int64_t size, T* d, T* e) noexcept {
  const T largest = largest_of(0, size, d, e);
  if (!std::isfinite(largest)) return false;
  if (largest == 0) return true;
  // Near one, no square overflows; what vanishes is nothing beside the largest.
  const int exponent = std::ilogb(largest);
  for (std::int64_t i = 0; i < size; ++i) d[i] = std::ldexp(d[i], -exponent);
  for (std::int64_t i = 0; i + 1 < size; ++i) {
    const T beside = std::ldexp(e[i], -exponent);
    e[i] = beside * beside;
  }
  const auto negligible = [&](std::int64_t i) {
    return e[i] <= square_of_unit<T> * std::abs(d[i] * d[i + 1]) || e[i] <= square_of_unit<T> * square_of_unit<T>;
  };
  std::int64_t sweeps = 60 * size, looked_at = 0;
  for (std::int64_t begin = 0; begin + 1 < size;) {
    if (negligible(begin)) {
      ++begin;
      continue;
    }
    std::int64_t end = begin + 1;
    while (end + 1 < size && !negligible(end)) ++end;
    // Eigenvalues are found at the beginning, where the smaller ones shall be: a new block may be put the other way
    // round.
    if (begin >= looked_at && d[end] * d[end] + e[end - 1] < d[begin] * d[begin] + e[begin]) {
      std::reverse(d + begin, d + end + 1);
      std::reverse(e + begin, e + end);
    }
    looked_at = std::max(looked_at, end + 1);
    if (sweeps-- == 0) return false;
    rootless_sweep(d, e, begin, end);
  }
  for (std::int64_t i = 0; i < size; ++i) d[i] = std::ldexp(d[i], exponent);
  return true;
}

/// Diagonalises rows [first, size) that no zero parts.
template <class T>
bool iterate_block(std::int64_t first, std::int64_t size, T* d, T* e, RotationSweeps<T>& rotations) noexcept {
  const T nothing = std::max(square_of_unit<T> * largest_of(first, size, d, e), std::numeric_limits<T>::min());
  const auto negligible = [&](std::int64_t i) {
    return std::abs(e[i]) <= unit<T> * (std::abs(d[i]) + std::abs(d[i + 1])) + nothing;
  };
  std::int64_t sweeps = 60 * (size - first), looked_at = size;
  for (std::int64_t end = size - 1; end > first;) {
    if (negligible(end - 1)) {
      e[--end] = 0;
      continue;
    }
    std::int64_t begin = end - 1;
    while (begin > first && !negligible(begin - 1)) --begin;
    // Eigenvalues are found at the end, where the smaller ones shall be.
    const T top = std::abs(d[begin]) + std::abs(e[begin]), bottom = std::abs(d[end]) + std::abs(e[end - 1]);
    if (end < looked_at && top < bottom) {
      std::reverse(d + begin, d + end + 1);
      std::reverse(e + begin, e + end);
      rotations.reverse(begin, end);
    }
    looked_at = std::min(looked_at, begin);
    if (sweeps-- == 0) return false;
    sweep(d, e, begin, end, rotations);
  }
  return true;
}

}  // namespace

template <class T>
bool tridiagonal_eigenvalues(std::int64_t size, T* d, T* e) noexcept {
  return for_each_block(size, e, [&](std::int64_t begin, std::int64_t end) {
    return block_eigenvalues(end - begin, d + begin, e + begin);
  });
}

template <class T>
bool iterate_tridiagonal(std::int64_t size, T* d, T* e, RotationSweeps<T>& rotations) noexcept {
  return for_each_block(
      size, e, [&](std::int64_t begin, std::int64_t end) { return iterate_block(begin, end, d, e, rotations); });
}

#define TYTO_INSTANTIATE(T)                                                \
  template bool tridiagonal_eigenvalues<T>(std::int64_t, T*, T*) noexcept; \
  template bool iterate_tridiagonal<T>(std::int64_t, T*, T*, RotationSweeps<T>&) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
