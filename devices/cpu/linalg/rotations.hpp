// SPDX-License-Identifier: MIT
// Sweeps of plane rotations, collected and then applied to a strip of columns at a time, so that the strip stays in the
// second cache for all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "devices/cpu/linalg/matrix.hpp"

namespace tyto::cpu::linalg {

/// (c, s) with c f + s g = length and c g - s f = 0.
template <class T>
struct Rotation {
  T c = 1;
  T s = 0;
  T length = 0;
};

template <class T>
Rotation<T> rotation_of(T f, T g) noexcept {
  if (g == 0) return {1, 0, f};
  const T length = std::sqrt(f * f + g * g);
  // Squares of what is so small have lost their digits, and so has a length among the smallest numbers, by which the
  // rotation would not be one.
  constexpr T small = sizeof(T) == 8 ? T(1e-140) : T(1e-16), scale = sizeof(T) == 8 ? T(0x1p600) : T(0x1p96);
  if (length > small) return {f / length, g / length, length};
  const T scaled_f = f * scale, scaled_g = g * scale, scaled = std::sqrt(scaled_f * scaled_f + scaled_g * scaled_g);
  return {scaled_f / scaled, scaled_g / scaled, scaled / scale};
}

template <class T>
class RotationSweeps {
 public:
  /// Groups of sweeps that are kept before they are applied.
  static constexpr std::int64_t most_groups = 12;

  static std::int64_t workspace(std::int64_t rows) noexcept { return most_groups * table_size(rows); }

  /// Sweeps over the rows of `target`; without an address nothing is kept.
  RotationSweeps(const KernelContext<T>& context, Matrix<T> target, T* workspace) noexcept
      : context_(context), target_(target), workspace_(workspace) {}

  /// Begins a sweep whose first rotation turns rows `first` and `first + 1`.
  void begin(std::int64_t first) noexcept {
    if (target_.first == nullptr) return;
    if (lane_ == sweeps_at_once) begin_group(first);
    groups_[group_].first = std::min(groups_[group_].first, first);
    place_ = table(group_) + (first + lane_) * rotation_row + 2 * lane_;
    row_ = first;
    ++lane_;
  }

  /// The next rotation of the sweep: one row further down.
  void add(const Rotation<T>& rotation) noexcept {
    if (target_.first == nullptr) return;
    place_[0] = rotation.c;
    place_[1] = rotation.s;
    place_ += rotation_row;
    groups_[group_].last = std::max(groups_[group_].last, ++row_);
  }

  /// Applies what was collected.
  void flush() noexcept;

  /// Puts the rows [first, last] of the target the other way round.
  void reverse(std::int64_t first, std::int64_t last) noexcept {
    if (target_.first == nullptr) return;
    flush();
    for (; first < last; ++first, --last) {
      std::swap_ranges(target_.row(first), target_.row(first) + target_.columns, target_.row(last));
    }
  }

 private:
  /// The rows that the sweeps of a group turn.
  struct Group {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };

  static constexpr std::int64_t table_size(std::int64_t rows) noexcept {
    return (rows + sweeps_at_once) * rotation_row;
  }
  T* table(std::int64_t group) const noexcept { return workspace_ + group * table_size(target_.rows); }
  void begin_group(std::int64_t first) noexcept;

  const KernelContext<T>& context_;
  Matrix<T> target_;
  T* workspace_;
  Group groups_[most_groups];
  std::int64_t group_ = -1;
  int lane_ = sweeps_at_once;  // of the next sweep in its group
  T* place_ = nullptr;         // of the sweep's next rotation
  std::int64_t row_ = 0;
};

}  // namespace tyto::cpu::linalg
