// Building blocks of the vector mathematics: bit casts, selects, exact sums and products, rounding; all branch-free.
//
// Every loop over these functions vectorises under -O3 -fno-math-errno -fno-trapping-math, with the vectors of the
// instruction set that the translation unit is compiled for. Each such unit defines TYTO_ISA (baseline, avx2, avx512)
// before it includes this, so that every set has symbols of its own; nothing but types is included, so that no
// shared inline function of the standard library is compiled with one set's instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef TYTO_ISA
#error "define TYTO_ISA (baseline, avx2 or avx512) before including the vector mathematics"
#endif

#define TYTO_VECTOR_INLINE static inline __attribute__((always_inline))

namespace tyto::cpu::TYTO_ISA {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

TYTO_VECTOR_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
TYTO_VECTOR_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
TYTO_VECTOR_INLINE float from_bits(uint32_t x) { return __builtin_bit_cast(float, x); }
TYTO_VECTOR_INLINE double from_bits(uint64_t x) { return __builtin_bit_cast(double, x); }

/// What the algorithms need to know about each floating-point format.
template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr Bits sign = 0x80000000u;
  static constexpr Bits mantissa = 0x007fffffu;
  static constexpr float infinity = __builtin_inff();
  static constexpr float nan = __builtin_nanf("");
  static constexpr float smallest_normal = 0x1p-126f;
  static constexpr float integers_from = 0x1p23f;  // no fraction from here on
  static constexpr float shifter = 0x1.8p23f;      // x + shifter rounds x to an integer and leaves it in the low bits
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr Bits sign = 0x8000000000000000u;
  static constexpr Bits mantissa = 0x000fffffffffffffu;
  static constexpr double infinity = __builtin_inf();
  static constexpr double nan = __builtin_nan("");
  static constexpr double smallest_normal = 0x1p-1022;
  static constexpr double integers_from = 0x1p52;
  static constexpr double shifter = 0x1.8p52;
};

template <class T>
TYTO_VECTOR_INLINE T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

/// a where the lowest bit of `which` is 0, b where it is 1. SSE2 has no 64-bit integer comparison; this needs none.
TYTO_VECTOR_INLINE float pick(uint32_t which, float a, float b) {
  const uint32_t mask = 0u - (which & 1u);
  return from_bits((bits_of(a) & ~mask) | (bits_of(b) & mask));
}
TYTO_VECTOR_INLINE double pick(uint64_t which, double a, double b) {
  const uint64_t mask = uint64_t{0} - (which & 1u);
  return from_bits((bits_of(a) & ~mask) | (bits_of(b) & mask));
}

TYTO_VECTOR_INLINE float abs(float x) { return from_bits(bits_of(x) & ~Format<float>::sign); }
TYTO_VECTOR_INLINE double abs(double x) { return from_bits(bits_of(x) & ~Format<double>::sign); }

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

TYTO_VECTOR_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TYTO_VECTOR_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

#if defined(__FMA__) || defined(__aarch64__)
#define TYTO_FUSED_MULTIPLY_ADD 1
TYTO_VECTOR_INLINE float mul_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TYTO_VECTOR_INLINE double mul_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
#define TYTO_FUSED_MULTIPLY_ADD 0
TYTO_VECTOR_INLINE float mul_add(float a, float b, float c) { return a * b + c; }
TYTO_VECTOR_INLINE double mul_add(double a, double b, double c) { return a * b + c; }
#endif

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class T>
TYTO_VECTOR_INLINE T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
TYTO_VECTOR_INLINE T polynomial(T x, T c0, Rest... rest) {
  return mul_add(polynomial(x, rest...), x, c0);
}

/// An unevaluated sum of two doubles: about 106 bits.
struct Pair {
  double high;
  double low;
};

/// a + b exactly, for |a| >= |b| or a == 0.
TYTO_VECTOR_INLINE Pair quick_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// a + b exactly, for any order.
TYTO_VECTOR_INLINE Pair exact_sum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// a * b exactly, short of overflow.
TYTO_VECTOR_INLINE Pair exact_product(double a, double b) {
  const double p = a * b;
#if TYTO_FUSED_MULTIPLY_ADD
  return {p, __builtin_fma(a, b, -p)};
#else
  // The nearest number of 26 bits and a rest of 26 bits and a sign, so that all four products are exact.
  const double a1 = from_bits((bits_of(a) + 0x4000000u) & 0xfffffffff8000000u), a2 = a - a1;
  const double b1 = from_bits((bits_of(b) + 0x4000000u) & 0xfffffffff8000000u), b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

#if defined(__SSE4_1__) || defined(__aarch64__)
TYTO_VECTOR_INLINE float rint(float x) { return __builtin_rintf(x); }
TYTO_VECTOR_INLINE double rint(double x) { return __builtin_rint(x); }
TYTO_VECTOR_INLINE float floor(float x) { return __builtin_floorf(x); }
TYTO_VECTOR_INLINE double floor(double x) { return __builtin_floor(x); }
TYTO_VECTOR_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TYTO_VECTOR_INLINE double ceil(double x) { return __builtin_ceil(x); }
TYTO_VECTOR_INLINE float trunc(float x) { return __builtin_truncf(x); }
TYTO_VECTOR_INLINE double trunc(double x) { return __builtin_trunc(x); }
#else
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
TYTO_VECTOR_INLINE float power_of_two_shifted(float shifted) { return from_bits((bits_of(shifted) + 127u) << 23); }
TYTO_VECTOR_INLINE double power_of_two_shifted(double shifted) { return from_bits((bits_of(shifted) + 1023u) << 52); }

/// x * 2^(n + more) for an integral n in a shifted sum (shifter + n), |n + more| < 2 * bias: in two factors, so that
/// results below the normal numbers come out right.
TYTO_VECTOR_INLINE float scale_shifted(float x, float shifted, int more = 0) {
  const uint32_t both = bits_of(shifted) - bits_of(Format<float>::shifter) + static_cast<uint32_t>(254 + more);
  const uint32_t half = both >> 1;
  return x * from_bits(half << 23) * from_bits((both - half) << 23);
}
TYTO_VECTOR_INLINE double scale_shifted(double x, double shifted, int more = 0) {
  const uint64_t both = bits_of(shifted) - bits_of(Format<double>::shifter) + static_cast<uint64_t>(2046 + more);
  const uint64_t half = both >> 1;
  return x * from_bits(half << 52) * from_bits((both - half) << 52);
}

/// x * 2^n for an integral |n| < 2 * bias.
template <class T>
TYTO_VECTOR_INLINE T scale(T x, T n) {
  return scale_shifted(x, n + Format<T>::shifter);
}

}  // namespace tyto::cpu::TYTO_ISA
