// Sweeps of plane rotations, collected and then applied to a strip of columns at a time, so that the strip stays in the
// second cache for all of them.
#pragma once

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
  T length = std::sqrt(f * f + g * g);
  // Squares of what is so small have lost their digits.
  constexpr T small = sizeof(T) == 8 ? T(1e-140) : T(1e-16);
  if (!(length > small)) length = std::hypot(f, g);
  return {f / length, g / length, length};
}

template <class T>
class RotationSweeps {
 public:
  /// Sweeps that are kept before they are applied.
  static constexpr std::int64_t most_sweeps = 48;

  static std::int64_t room(std::int64_t rows) noexcept { return 2 * most_sweeps * rows; }

  /// Sweeps over the rows of `target`; without an address nothing is kept.
  RotationSweeps(const Bench<T>& bench, Matrix<T> target, T* room) noexcept
      : bench_(bench), target_(target), room_(room) {}

  /// Begins a sweep whose first rotation turns rows `first` and `first + 1`.
  void begin(std::int64_t first) noexcept {
    if (target_.first == nullptr) return;
    if (count_ == most_sweeps) flush();
    first_[count_] = first;
    length_[count_] = 0;
    ++count_;
  }

  /// The next rotation of the sweep: one row further down.
  void add(const Rotation<T>& rotation) noexcept {
    if (target_.first == nullptr) return;
    T* c = cosines(count_ - 1);
    const std::int64_t place = length_[count_ - 1]++;
    c[place] = rotation.c;
    c[target_.rows + place] = rotation.s;
  }

  /// Applies what was collected.
  void flush() noexcept;

 private:
  T* cosines(std::int64_t sweep) const noexcept { return room_ + 2 * sweep * target_.rows; }

  const Bench<T>& bench_;
  Matrix<T> target_;
  T* room_;
  std::int64_t count_ = 0;
  std::int64_t first_[most_sweeps] = {};
  std::int64_t length_[most_sweeps] = {};
};

}  // namespace tyto::cpu::linalg
