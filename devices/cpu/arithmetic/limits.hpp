// SPDX-License-Identifier: MIT
// The interval to which an epilogue limits results: clip, and ReLU, which is [0, infinity].
#pragma once

namespace tyto::cpu {

/// Limits of results, none by default; NaN stays NaN. Always inlined, since code for several instruction sets uses it.
template <class T>
struct Limits {
  static constexpr T infinity = static_cast<T>(__builtin_inf());

  T low = -infinity;
  T high = infinity;

  [[gnu::always_inline]] bool any() const noexcept { return low > -infinity || high < infinity; }

  /// For a value or a vector of them. As the operator clip: where low exceeds high, high.
  template <class Value>
  [[gnu::always_inline]] Value operator()(Value value) const noexcept {
    value = value < low ? low - Value{} : value;
    return value > high ? high - Value{} : value;
  }

  template <class U>
  [[gnu::always_inline]] Limits<U> as() const noexcept {
    return {static_cast<U>(low), static_cast<U>(high)};
  }
};

inline constexpr Limits<double> relu_limits{0};

}  // namespace tyto::cpu
