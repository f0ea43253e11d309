// SPDX-License-Identifier: MIT
// Sums of exponentials relative to the largest over short lines, computed and summed in one pass.
#pragma once

#include "devices/cpu/reduce/exp_nonpositive.hpp"
#include "devices/cpu/reduce/lanes.hpp"

namespace tyto::cpu::TYTO_ISA {

/// The terms of a line of at most this length are summed as they are computed; those of a longer one are written to
/// memory and then summed, in the same order.
template <class C>
inline constexpr std::int64_t longest_short_line = 8 * Lanes<C>::count - 1;

/// The terms exp(x[i] - peak) of a short line, by whole vectors: one by one, three would cost as much as 24.
template <class C>
struct ShortExpSums {
  using L = Lanes<C>;
  const C* x;
  C peak;

  [[gnu::always_inline]] static inline typename L::Vector terms(const C* from, C peak) {
    C terms[L::count];
    for (int k = 0; k < L::count; ++k) terms[k] = exp_nonpositive(from[k] - peak);
    return L::load(terms);
  }

  [[gnu::always_inline]] inline typename L::Vector vector(std::int64_t i) const {
    C from[L::count];
    L::store(from, L::load(x + i));
    return terms(from, peak);
  }
  [[gnu::always_inline]] inline typename L::Vector rest(std::int64_t i, std::int64_t length, C) const {
    C from[L::count];
    for (int k = 0; k < L::count; ++k) from[k] = -Format<C>::infinity;
    for (std::int64_t k = i; k < length; ++k) from[k - i] = x[k];
    return terms(from, peak);
  }
};

/// Their sum, in the order in which fold_array would add them.
template <class C>
[[gnu::always_inline]] inline C sum_short_exps(const C* x, std::int64_t count, C peak) {
  return fold_elements<Add, C>(ShortExpSums<C>{x, peak}, count, C(0));
}

}  // namespace tyto::cpu::TYTO_ISA
