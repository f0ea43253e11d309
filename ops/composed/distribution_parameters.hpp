// What distributions ask of their parameters before they draw: refused where they are known, marked where they are not.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/floating_format.hpp"
#include "ops/define.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core {

/// The numbers between two ends, as messages tell them. NaN is never one of them.
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

/// Of the sum of probabilities, each of which was rounded to its type.
inline Limits near_one(DType probabilities) {
  const double rounding = is_floating(probabilities) ? 2 * format_of(probabilities).epsilon() : 0;
  if (rounding > 0.001) return {"within two epsilons of 1", 1 - rounding, 1 + rounding};
  return {"within a thousandth of 1", 0.999, 1.001};
}
}  // namespace limits

/// Whether that holds, if eager mode knows it already.
template <class T>
std::optional<bool> holds_now(const T& condition) {
  if constexpr (std::is_same_v<T, Tensor<Eager>>) {
    if (const auto value = known(condition)) return value->template item<bool>();
  }
  return {};
}

/// Whether elements can be read without computing anything: numbers, and what eager mode computed.
inline bool is_seen(const Value& value) {
  return scalar_operand(value) != nullptr || (value.node()->mode() != Mode::lazy && value.node()->evaluated());
}

template <class T>
T within(const T& x, const Limits& allowed) {
  T inside = allowed.with_low() ? x >= allowed.low : x > allowed.low;
  if (allowed.high < infinite || !allowed.with_high()) {
    inside = inside && (allowed.with_high() ? x <= allowed.high : x < allowed.high);
  }
  return allowed.whole ? inside && equal(x, floor(x)) : inside;
}

/// One of the elements that are not allowed, if there is one.
inline std::optional<double> outside(const Value& seen, const Limits& allowed) {
  using T = Tensor<Any>;
  const auto refused = [&](double x) { return allowed.hold(x) ? std::nullopt : std::optional(x); };
  if (const Scalar* number = scalar_operand(seen)) return refused(number->as_double());
  const T x = seen;
  const std::int64_t elements = element_count(x.shape());
  if (elements == 0) return {};
  if (elements == 1) return refused(x.item<double>());
  // Both are NaN where an element is.
  if (const auto least = refused(min(x).item<double>())) return least;
  if (allowed.high < infinite || !allowed.with_high()) {
    if (const auto most = refused(max(x).item<double>())) return most;
  }
  if (!allowed.whole || all(equal(x, floor(x))).item<bool>()) return {};
  return max(where(equal(x, floor(x)), allowed.low, x)).item<double>();
}

/// The parameter itself, unless it is known: then ValueError where an element is not allowed. Otherwise NaN
/// takes the place of such elements.
template <class T>
T checked(std::string_view distribution, std::string_view name, const T& parameter, const Limits& allowed) {
  require("sample", parameter);
  const Value given = resolve(parameter);
  if (!is_seen(given)) {
    const T x = is_floating(given.dtype()) ? T(given) : T(cast_to(given, DType::f32));
    return where(within<T>(x, allowed), x, std::numeric_limits<double>::quiet_NaN());
  }
  if (const std::optional<double> found = outside(given, allowed)) {
    throw ValueError(text("sample: ", distribution, " needs ", name, " ", allowed.text, ", not ", *found));
  }
  return parameter;
}

/// Counts as i64: -1 where they were drawn of parameters that `checked` marked.
template <class T>
T marked(std::initializer_list<T> parameters, const T& counts) {
  T found = counts;
  for (const T& parameter : parameters) {
    if (!is_seen(parameter)) found = where(isnan(parameter), -1.0, found);
  }
  return found.astype(DType::i64);
}

}  // namespace tyto::core

// The parameter that a distribution draws with, as it is or in f64; what is written here is what a message names.
#define TYTO_CHECKED(Name, parameter, allowed) core::checked<T>(#Name, #parameter, T(parameter), core::limits::allowed)
#define TYTO_CHECKED_WIDE(Name, parameter, allowed) \
  core::checked<T>(#Name, #parameter, T(parameter).astype(DType::f64), core::limits::allowed)
