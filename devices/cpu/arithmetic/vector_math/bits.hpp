// SPDX-License-Identifier: MIT
// Building blocks of the vector mathematics: formats, signs, exact sums and products, rounding; all branch-free.
//
// The functions are written once over the lane types f32, f64, i32, i64, u32, u64 and mask. Sources compiled for an
// instruction set define TYTO_ISA (baseline, avx2, avx512) and get scalar_lanes.hpp, whose loops the compiler
// vectorises; every set has symbols of its own, and nothing but types is included, so that no shared inline function of
// the standard library is compiled with one set's instructions. The JIT includes recorded_lanes.hpp first: its types
// record what is done to them.
#pragma once

#if !defined(TYTO_RECORDED_LANES)
#include "devices/cpu/arithmetic/vector_math/scalar_lanes.hpp"
#endif

namespace tyto::cpu::TYTO_ISA {

/// Constants of each floating-point format.
template <class T>
struct Format;

template <>
struct Format<f32> {
  using Bits = u32;
  static constexpr int bits = 32;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr Bits sign = 0x80000000u;
  static constexpr Bits mantissa = 0x007fffffu;
  static constexpr f32 infinity = __builtin_inff();
  static constexpr f32 nan = __builtin_nanf("");
  static constexpr f32 smallest_normal = 0x1p-126f;
  static constexpr f32 integers_from = 0x1p23f;  // no fraction from here on
  static constexpr f32 shifter = 0x1.8p23f;      // x + shifter rounds x to an integer and leaves it in the low bits
};

template <>
struct Format<f64> {
  using Bits = u64;
  static constexpr int bits = 64;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr Bits sign = 0x8000000000000000u;
  static constexpr Bits mantissa = 0x000fffffffffffffu;
  static constexpr f64 infinity = __builtin_inf();
  static constexpr f64 nan = __builtin_nan("");
  static constexpr f64 smallest_normal = 0x1p-1022;
  static constexpr f64 integers_from = 0x1p52;
  static constexpr f64 shifter = 0x1.8p52;
};

template <class T>
inline constexpr bool is_single = Format<T>::bits == 32;

/// a where the lowest bit of `which` is 0, b where it is 1. SSE2 has no 64-bit integer comparison; this needs none.
TYTO_VECTOR_INLINE f32 pick(u32 which, f32 a, f32 b) {
  const u32 all = 0u - (which & 1u);
  return from_bits((bits_of(a) & ~all) | (bits_of(b) & all));
}
TYTO_VECTOR_INLINE f64 pick(u64 which, f64 a, f64 b) {
  const u64 all = u64(0) - (which & u64(1));
  return from_bits((bits_of(a) & ~all) | (bits_of(b) & all));
}

TYTO_VECTOR_INLINE f32 abs(f32 x) { return from_bits(bits_of(x) & ~Format<f32>::sign); }
TYTO_VECTOR_INLINE f64 abs(f64 x) { return from_bits(bits_of(x) & ~Format<f64>::sign); }

template <class T>
TYTO_VECTOR_INLINE T copysign(T magnitude, T sign) {
  using F = Format<T>;
  return from_bits((bits_of(magnitude) & ~F::sign) | (bits_of(sign) & F::sign));
}

/// magnitude with its sign flipped where `sign` is negative.
template <class T>
TYTO_VECTOR_INLINE T multiply_sign(T magnitude, T sign) {
  return from_bits(bits_of(magnitude) ^ (bits_of(sign) & Format<T>::sign));
}

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class T, class C>
TYTO_VECTOR_INLINE T polynomial(T, C c0) {
  return T(c0);
}
template <class T, class C, class... Rest>
TYTO_VECTOR_INLINE T polynomial(T x, C c0, Rest... rest) {
  return mul_add(polynomial(x, rest...), x, T(c0));
}

/// An unevaluated sum of two doubles: about 106 bits.
struct Pair {
  f64 high;
  f64 low;
};

/// a + b exactly, for |a| >= |b| or a == 0.
TYTO_VECTOR_INLINE Pair quick_sum(f64 a, f64 b) {
  const f64 s = a + b;
  return {s, b - (s - a)};
}

/// a + b exactly, for any order.
TYTO_VECTOR_INLINE Pair exact_sum(f64 a, f64 b) {
  const f64 s = a + b;
  const f64 t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// a * b exactly, short of overflow.
TYTO_VECTOR_INLINE Pair exact_product(f64 a, f64 b) {
  const f64 p = a * b;
#if TYTO_FUSED_MULTIPLY_ADD
  return {p, mul_add(a, b, -p)};
#else
  // The nearest number of 26 bits and a rest of 26 bits and a sign, so that all four products are exact.
  const f64 a1 = from_bits((bits_of(a) + 0x4000000u) & 0xfffffffff8000000u), a2 = a - a1;
  const f64 b1 = from_bits((bits_of(b) + 0x4000000u) & 0xfffffffff8000000u), b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

#if !TYTO_ROUNDING_INSTRUCTIONS
/// The nearest integer, ties to even.
template <class T>
TYTO_VECTOR_INLINE T rint(T x) {
  const T a = abs(x);
  const T r = (a + Format<T>::integers_from) - Format<T>::integers_from;
  return copysign(select(a < Format<T>::integers_from, r, a), x);
}
template <class T>
TYTO_VECTOR_INLINE T floor(T x) {
  const T r = rint(x);
  return copysign(r - select(r > x, T(1), T(0)), x);
}
template <class T>
TYTO_VECTOR_INLINE T ceil(T x) {
  const T r = rint(x);
  return copysign(r + select(r < x, T(1), T(0)), x);
}
template <class T>
TYTO_VECTOR_INLINE T trunc(T x) {
  const T a = abs(x);
  const T r = rint(a);
  return copysign(r - select(r > a, T(1), T(0)), x);
}
#endif

/// low <= x <= high; NaN stays NaN.
template <class T>
TYTO_VECTOR_INLINE T clamp(T x, T low, T high) {
  const T y = select(x > high, high, x);
  return select(y < low, low, y);
}

/// 2^n for an integral n held in a shifted sum (shifter + n); n within the exponents of normal numbers.
TYTO_VECTOR_INLINE f32 power_of_two_shifted(f32 shifted) { return from_bits((bits_of(shifted) + 127u) << 23); }
TYTO_VECTOR_INLINE f64 power_of_two_shifted(f64 shifted) { return from_bits((bits_of(shifted) + 1023u) << 52); }

/// x * 2^(n + more) for an integral n in a shifted sum (shifter + n), |n + more| < 2 * bias: in two factors, so that
/// results below the normal numbers come out right.
TYTO_VECTOR_INLINE f32 scale_shifted(f32 x, f32 shifted, int more = 0) {
  const u32 both = bits_of(shifted) - bits_of(Format<f32>::shifter) + static_cast<u32>(254 + more);
  const u32 half = both >> 1;
  return x * from_bits(half << 23) * from_bits((both - half) << 23);
}
TYTO_VECTOR_INLINE f64 scale_shifted(f64 x, f64 shifted, int more = 0) {
  const u64 both = bits_of(shifted) - bits_of(Format<f64>::shifter) + static_cast<u64>(2046 + more);
  const u64 half = both >> 1;
  return x * from_bits(half << 52) * from_bits((both - half) << 52);
}

#if !TYTO_SCALING_INSTRUCTION
/// x * 2^n for an integral |n| < 2 * bias.
template <class T>
TYTO_VECTOR_INLINE T scale(T x, T n) {
  return scale_shifted(x, n + Format<T>::shifter);
}
#endif

}  // namespace tyto::cpu::TYTO_ISA
