// SPDX-License-Identifier: MIT
// Limits of the parameters of random draws: one table for options, distributions and devices. Conditions on pairs of
// bounds are checked where they are drawn.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "core/value/floating_format.hpp"

namespace tyto::core {

/// The numbers between two ends, with their text for messages. NaN is never one of them.
struct Limits {
  enum class Ends : std::uint8_t { both, low, high, none };

  std::string_view text;
  double low, high;
  Ends ends = Ends::both;  // that belong to the numbers
  bool whole = false;

  bool with_low() const { return ends == Ends::both || ends == Ends::low; }
  bool with_high() const { return ends == Ends::both || ends == Ends::high; }
  bool hold(double x) const {
    return (with_low() ? x >= low : x > low) && (with_high() ? x <= high : x < high) && (!whole || std::floor(x) == x);
  }
};

// Integers are exact in f64 up to the first.
inline constexpr double most_counted = 0x1p53, most_rate = 0x1p62;
// Gamma draws exceed the shape parameter and one 32 times with a probability below 10^-14.
inline constexpr double most_mixed_rate = most_rate / 32;

inline constexpr double infinite = std::numeric_limits<double>::infinity();

namespace limits {
inline constexpr Limits not_negative{">= 0", 0, infinite};
inline constexpr Limits positive{"> 0", 0, infinite, Limits::Ends::high};
inline constexpr Limits above_one{"> 1", 1, infinite, Limits::Ends::high};
inline constexpr Limits finite{"finite", -infinite, infinite, Limits::Ends::none};
inline constexpr Limits length{"in [0, inf)", 0, infinite, Limits::Ends::low};
inline constexpr Limits probability{"in [0, 1]", 0, 1};
inline constexpr Limits probability_above_zero{"in (0, 1]", 0, 1, Limits::Ends::high};
inline constexpr Limits probability_below_one{"in [0, 1)", 0, 1, Limits::Ends::low};
inline constexpr Limits rate{"in [0, 2^62]", 0, most_rate};
inline constexpr Limits mixed_rate{"in [0, 2^57]", 0, most_mixed_rate};
inline constexpr Limits count{"an integer in [0, 2^53]", 0, most_counted, Limits::Ends::both, true};

/// Limits for the sum of probabilities that were each rounded to their type.
inline Limits near_one(DType probabilities) {
  const double rounding = is_floating(probabilities) ? 2 * format_of(probabilities).epsilon() : 0;
  if (rounding > 0.001) return {"within two epsilons of 1", 1 - rounding, 1 + rounding};
  return {"within a thousandth of 1", 0.999, 1.001};
}
}  // namespace limits

/// The first of the elements that is not allowed, if there is one.
std::optional<double> outside(std::span<const float> elements, const Limits& allowed);
std::optional<double> outside(std::span<const double> elements, const Limits& allowed);

}  // namespace tyto::core
