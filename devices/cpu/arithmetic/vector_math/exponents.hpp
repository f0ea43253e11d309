// SPDX-License-Identifier: MIT
// A number as mantissa and exponent, and times powers of two.
#pragma once

#include "devices/cpu/arithmetic/vector_math/bits.hpp"

namespace tyto::cpu::TYTO_ISA {

/// Neither zero nor infinite nor NaN.
template <class T>
TYTO_VECTOR_INLINE mask has_exponent(T x) {
  return abs(x) > T(0) && abs(x) < Format<T>::infinity;
}

/// The exponent that scales every subnormal number to a normal one.
inline constexpr int lift = 64;

/// x with its exponent replaced by that of 0.5. Exact.
template <class T>
TYTO_VECTOR_INLINE T frexp_mantissa(T x) {
  using F = Format<T>;
  const T normal = select(abs(x) < F::smallest_normal, x * T(0x1p64), x);
  const auto bits = (bits_of(normal) & (F::sign | F::mantissa)) | bits_of(T(0.5));
  return select(has_exponent(x), from_bits(bits), x);
}

/// Exact.
template <class T>
TYTO_VECTOR_INLINE T frexp_exponent(T x) {
  using F = Format<T>;
  const mask tiny = abs(x) < F::smallest_normal;
  const T normal = abs(select(tiny, x * T(0x1p64), x));
  // The exponent's bits as a number: in the last places of one whose last place is worth 1.
  const T biased = from_bits((bits_of(normal) >> F::mantissa_bits) | bits_of(F::integers_from)) - F::integers_from;
  const T exponent = biased - T(F::bias - 1) - select(tiny, T(lift), T(0));
  return select(has_exponent(x), exponent, T(0));
}

/// x 2^n, n without its fraction. Rounded once: the mantissa is scaled in two steps, of which the first is exact.
template <class T>
TYTO_VECTOR_INLINE T ldexp(T x, T n) {
  using F = Format<T>;
  constexpr T exact = is_single<T> ? T(100) : T(1000), most = is_single<T> ? T(200) : T(1200);
  const T sum = clamp(trunc(n) + frexp_exponent(x), -most, most);
  const T first = clamp(sum, -exact, exact);
  const T y =
      frexp_mantissa(x) * power_of_two_shifted(F::shifter + first) * power_of_two_shifted(F::shifter + (sum - first));
  return select(n != n, n, y);
}

}  // namespace tyto::cpu::TYTO_ISA
