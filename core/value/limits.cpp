// SPDX-License-Identifier: MIT
// Checks the elements of arrays against limits.
#include "core/value/limits.hpp"

#include <type_traits>

namespace tyto::core {

namespace {

/// The end itself, or the next number of E inside of it.
template <class E>
E inner_end(double end, bool belongs, double inside) {
  const auto rounded = static_cast<E>(end);
  const bool is_inside = inside > 0 ? rounded >= end : rounded <= end;
  if (is_inside && (belongs || rounded != end)) return rounded;
  return std::nextafter(rounded, static_cast<E>(inside));
}

// Elements that the loop checks at a time, without branches.
constexpr std::size_t block = 64;

template <class E>
std::optional<double> first_outside(std::span<const E> elements, const Limits& allowed) {
  using Mask = std::conditional_t<sizeof(E) == 8, std::int64_t, std::int32_t>;
  const E low = inner_end<E>(allowed.low, allowed.with_low(), infinite);
  const E high = inner_end<E>(allowed.high, allowed.with_high(), -infinite);
  std::size_t begin = 0;
  if (!allowed.whole) {
    for (; begin + block <= elements.size(); begin += block) {
      Mask all_inside = -1;
      const E* const x = elements.data() + begin;
      for (std::size_t i = 0; i < block; ++i) {
        all_inside &= x[i] >= low ? Mask{-1} : Mask{0};
        all_inside &= x[i] <= high ? Mask{-1} : Mask{0};
      }
      if (all_inside == 0) break;
    }
  }
  for (const E x : elements.subspan(begin)) {
    if (!allowed.hold(static_cast<double>(x))) return static_cast<double>(x);
  }
  return {};
}

}  // namespace

std::optional<double> outside(std::span<const float> elements, const Limits& allowed) {
  return first_outside(elements, allowed);
}
std::optional<double> outside(std::span<const double> elements, const Limits& allowed) {
  return first_outside(elements, allowed);
}

}  // namespace tyto::core
