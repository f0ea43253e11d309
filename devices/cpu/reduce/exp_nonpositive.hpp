// SPDX-License-Identifier: MIT
// exp of numbers that are not positive: the terms of a sum relative to its largest, at half the price of a whole exp.
#pragma once

#include "devices/cpu/arithmetic/vector_math/exponential.hpp"

namespace tyto::cpu::TYTO_ISA {

/// e^x for x <= 0, with the error of exp, denormal results included; NaN stays NaN. Anything else above 0 gives nothing
/// of use.
template <class T>
TYTO_VECTOR_INLINE T exp_nonpositive(T x) {
  constexpr T lowest = sizeof(T) == 4 ? T(-104) : T(-746);  // 0 from here on
  const ExpArgument<T> a = split_exponent(select(x < lowest, lowest, x));
  const T p = mul_add(a.r * a.r, exp_series(a.r), a.r) + T(1);
  // 2^n may be too small for a normal number, 2^(n + 64) is not: only the last product rounds.
  return p * power_of_two_shifted(a.shifted + T(64)) * T(0x1p-64);
}

}  // namespace tyto::cpu::TYTO_ISA
