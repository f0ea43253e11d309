// SPDX-License-Identifier: MIT
// Comparisons by which minima and maxima keep one of two elements, in reductions and scans.
#pragma once

#include <limits>

namespace tyto::cpu {

/// The lower of two elements is the extreme one, or the higher; every other beats the worst.
struct Lower {
  template <class P>
  static bool beats(P b, P a) {
    return b < a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? std::numeric_limits<P>::infinity() : std::numeric_limits<P>::max();
  }
};
struct Higher {
  template <class P>
  static bool beats(P b, P a) {
    return b > a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? -std::numeric_limits<P>::infinity()
                                                : std::numeric_limits<P>::lowest();
  }
};
/// b where it beats a or is NaN.
template <class Order, class V>
V extreme(V a, V b) {
  return Order::beats(b, a) || b != b ? b : a;
}

}  // namespace tyto::cpu
