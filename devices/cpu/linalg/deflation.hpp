// SPDX-License-Identifier: MIT
// Criteria by which subdiagonal elements of a Hessenberg matrix count as zero, the same for the real and the complex QR
// iteration, and the largest number of steps of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tyto::cpu::linalg {

/// Absolute values about rows k - 1 and k: the element below the diagonal that may be dropped, the one across from it,
/// both diagonal elements and how far these are apart; and the elements below the diagonal before and after.
template <class T>
struct Subdiagonal {
  T below, across, upper, lower, distance, before, after;
};

/// QR steps for all eigenvalues of a matrix, as LAPACK's lahqr gives: most take two or three, but those of a defective
/// cluster, as matrices of sparse directed graphs have, one a hundred.
constexpr std::int64_t most_qr_steps(std::int64_t size) noexcept { return 30 * std::max<std::int64_t>(10, size); }

/// Whether `below` is negligible beside its neighbours and for the eigenvalues (Ahues and Tisseur, A new deflation
/// criterion for the QR algorithm, 1997), or under the floor of its block.
template <class T>
bool is_negligible(const Subdiagonal<T>& at, T floor) noexcept {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  if (at.below <= floor) return true;
  const T diagonal = at.upper + at.lower, around = diagonal != 0 ? diagonal : at.before + at.after;
  if (at.below > epsilon * around) return false;
  const T larger = std::max(at.below, at.across), smaller = std::min(at.below, at.across);
  const T far = std::max(at.lower, at.distance), near = std::min(at.lower, at.distance), size = far + larger;
  return smaller * (larger / size) <= std::max(floor, epsilon * (near * (far / size)));
}

/// floors[k], for each row k, is what the element below the diagonal there may always be dropped under: epsilon^2 times
/// the largest element of its block, as in Eigen's RealSchur. What is left of a matrix of low rank after the first
/// deflations is rounding errors, which have no larger neighbours and shrink from step to step until products of them
/// underflow and no step helps. Blocks that zeros part from the beginning have scales of their own.
/// size_at(row, column) is an absolute value.
template <class T, class SizeAt>
void find_floors(std::int64_t size, const SizeAt& size_at, T* floors) noexcept {
  constexpr T epsilon = std::numeric_limits<T>::epsilon(), least = std::numeric_limits<T>::min() / epsilon;
  for (std::int64_t begin = 0; begin < size;) {
    T largest = 0;
    std::int64_t end = begin + 1;
    while (end < size && size_at(end, end - 1) != 0) ++end;
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = std::max(begin, row - 1); column < end; ++column) {
        largest = std::max(largest, size_at(row, column));
      }
    }
    std::fill(floors + begin, floors + end, std::max(least, epsilon * epsilon * largest));
    begin = end;
  }
}

}  // namespace tyto::cpu::linalg
