// SPDX-License-Identifier: MIT
// Which of two elements minima and maxima keep, in reductions and scans: of single elements and of vectors.
//
// Sources compiled for each instruction set include this too: all that they call is inlined.
#pragma once

#include <limits>

namespace tyto::cpu {

/// The lower of two elements is the extreme one, or the higher; every other beats the worst.
struct Lower {
  template <class P>
  [[gnu::always_inline]] static inline auto beats(P b, P a) {
    return b < a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? std::numeric_limits<P>::infinity() : std::numeric_limits<P>::max();
  }
};
struct Higher {
  template <class P>
  [[gnu::always_inline]] static inline auto beats(P b, P a) {
    return b > a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? -std::numeric_limits<P>::infinity()
                                                : std::numeric_limits<P>::lowest();
  }
};

/// b where it beats a or is NaN; a NaN in a stays, because nothing beats it.
template <class Order>
struct Extreme : Order {
  template <class V>
  [[gnu::always_inline]] static inline V apply(V a, V b) {
    return (Order::beats(b, a) | (b != b)) ? b : a;
  }
  /// The same where b is no NaN.
  struct OfNumbers {
    template <class V>
    [[gnu::always_inline]] static inline V apply(V a, V b) {
      return Order::beats(b, a) ? b : a;
    }
  };
  /// Whether b is preferred to a strictly; the first NaN is preferred to everything.
  template <class P>
  [[gnu::always_inline]] static inline bool prefers(P b, P a) {
    return (Order::beats(b, a) | (b != b)) & (a == a);
  }
};
using Minimum = Extreme<Lower>;
using Maximum = Extreme<Higher>;

}  // namespace tyto::cpu
