// SPDX-License-Identifier: MIT
// The functions that ops/elementwise.def names beyond the vector mathematics: integers' side of them, shifts, bits,
// predicates. Include it where vector_math.hpp may be included, under the same conditions.
#pragma once

#include "devices/cpu/arithmetic/vector_math.hpp"

namespace tyto::cpu::TYTO_ISA {

#if defined(TYTO_RECORDED_LANES)
using Boolean = mask;
template <class T>
TYTO_VECTOR_INLINE T sel(const Boolean& condition, const T& yes, const T& no) {
  return select(condition, yes, no);
}
TYTO_VECTOR_INLINE Boolean bit_not(Boolean x) { return !x; }
#else
using std::int16_t;
using std::int8_t;
using std::ptrdiff_t;
using std::uint16_t;
using std::uint8_t;

/// A bool as it is stored: a byte that holds 0 or 1.
using Boolean = uint8_t;

template <class T>
TYTO_VECTOR_INLINE T sel(Boolean condition, T yes, T no) {
  return condition != 0 ? yes : no;
}
TYTO_VECTOR_INLINE Boolean bit_not(Boolean x) { return x ^ 1u; }
#endif

TYTO_VECTOR_INLINE Boolean is_infinite(f32 x) { return abs(x) == Format<f32>::infinity; }
TYTO_VECTOR_INLINE Boolean is_infinite(f64 x) { return abs(x) == Format<f64>::infinity; }
TYTO_VECTOR_INLINE Boolean is_infinite(i32) { return false; }
TYTO_VECTOR_INLINE Boolean is_infinite(i64) { return false; }
TYTO_VECTOR_INLINE Boolean is_infinite(u64) { return false; }
TYTO_VECTOR_INLINE Boolean is_finite(f32 x) { return abs(x) < Format<f32>::infinity; }
TYTO_VECTOR_INLINE Boolean is_finite(f64 x) { return abs(x) < Format<f64>::infinity; }
TYTO_VECTOR_INLINE Boolean is_finite(i32) { return true; }
TYTO_VECTOR_INLINE Boolean is_finite(i64) { return true; }
TYTO_VECTOR_INLINE Boolean is_finite(u64) { return true; }

TYTO_VECTOR_INLINE f32 round_even(f32 x) { return rint(x); }
TYTO_VECTOR_INLINE f64 round_even(f64 x) { return rint(x); }

// Integers have no fraction and are never NaN.
#define TYTO_INTEGER_FUNCTIONS(T)                                     \
  TYTO_VECTOR_INLINE T floor(T x) { return x; }                       \
  TYTO_VECTOR_INLINE T ceil(T x) { return x; }                        \
  TYTO_VECTOR_INLINE T trunc(T x) { return x; }                       \
  TYTO_VECTOR_INLINE T round_even(T x) { return x; }                  \
  TYTO_VECTOR_INLINE T fmax(T a, T b) { return select(a > b, a, b); } \
  TYTO_VECTOR_INLINE T fmin(T a, T b) { return select(a < b, a, b); } \
  TYTO_VECTOR_INLINE T bit_not(T x) { return ~x; }
TYTO_INTEGER_FUNCTIONS(i32)
TYTO_INTEGER_FUNCTIONS(i64)
#if !defined(TYTO_RECORDED_LANES)
TYTO_INTEGER_FUNCTIONS(u64)
#endif
#undef TYTO_INTEGER_FUNCTIONS

// A count of the width or more, or a negative one, shifts every bit out; to the right it leaves the sign, if there is
// one.
#if defined(TYTO_RECORDED_LANES)
TYTO_VECTOR_INLINE i32 left_shift(i32 a, i32 count) { return i32::apply(jit::Op::shift_left_by, a, count); }
TYTO_VECTOR_INLINE i64 left_shift(i64 a, i64 count) { return i64::apply(jit::Op::shift_left_by, a, count); }
TYTO_VECTOR_INLINE i32 right_shift(i32 a, i32 count) { return i32::apply(jit::Op::shift_right_signed_by, a, count); }
TYTO_VECTOR_INLINE i64 right_shift(i64 a, i64 count) { return i64::apply(jit::Op::shift_right_signed_by, a, count); }
#else
template <class T, class Unsigned>
TYTO_VECTOR_INLINE T left_shifted(T a, T count) {
  constexpr Unsigned width = 8 * sizeof(T);
  const Unsigned by = static_cast<Unsigned>(count);
  const Unsigned shifted = static_cast<Unsigned>(a) << (by % width);
  return by < width ? static_cast<T>(shifted) : T(0);
}
template <class T, class Unsigned>
TYTO_VECTOR_INLINE T right_shifted(T a, T count) {
  constexpr Unsigned width = 8 * sizeof(T);
  const Unsigned by = static_cast<Unsigned>(count);
  return a >> static_cast<T>(by < width ? by : width - 1);
}
TYTO_VECTOR_INLINE i32 left_shift(i32 a, i32 count) { return left_shifted<i32, u32>(a, count); }
TYTO_VECTOR_INLINE i64 left_shift(i64 a, i64 count) { return left_shifted<i64, u64>(a, count); }
TYTO_VECTOR_INLINE i32 right_shift(i32 a, i32 count) { return right_shifted<i32, u32>(a, count); }
TYTO_VECTOR_INLINE i64 right_shift(i64 a, i64 count) { return right_shifted<i64, u64>(a, count); }
TYTO_VECTOR_INLINE u64 left_shift(u64 a, u64 count) { return left_shifted<u64, u64>(a, count); }
TYTO_VECTOR_INLINE u64 right_shift(u64 a, u64 count) { return count < 64 ? a >> count : 0; }
#endif

// Bits of neighbours, pairs, fours and bytes are added up side by side.
TYTO_VECTOR_INLINE u32 set_bits(u32 x) {
  x = x - ((x >> 1) & u32(0x55555555u));
  x = (x & u32(0x33333333u)) + ((x >> 2) & u32(0x33333333u));
  x = (x + (x >> 4)) & u32(0x0f0f0f0fu);
  x = x + (x >> 8);
  return (x + (x >> 16)) & u32(0x3fu);
}
TYTO_VECTOR_INLINE u64 set_bits(u64 x) {
  x = x - ((x >> 1) & u64(0x5555555555555555u));
  x = (x & u64(0x3333333333333333u)) + ((x >> 2) & u64(0x3333333333333333u));
  x = (x + (x >> 4)) & u64(0x0f0f0f0f0f0f0f0fu);
  x = x + (x >> 8);
  x = x + (x >> 16);
  return (x + (x >> 32)) & u64(0x7fu);
}
TYTO_VECTOR_INLINE i32 popcount(i32 x) { return static_cast<i32>(set_bits(static_cast<u32>(abs(x)))); }
TYTO_VECTOR_INLINE i64 popcount(i64 x) { return static_cast<i64>(set_bits(static_cast<u64>(abs(x)))); }

#if defined(TYTO_RECORDED_LANES)
template <class T>
TYTO_VECTOR_INLINE T gcd(T a, T) {
  return unrecordable(a);
}
template <class T>
TYTO_VECTOR_INLINE T lcm(T a, T) {
  return unrecordable(a);
}
#else
TYTO_VECTOR_INLINE u64 popcount(u64 x) { return set_bits(x); }

/// The size of a number as one without a sign, so that the lowest number has one too.
TYTO_VECTOR_INLINE u32 size_of_number(i32 x) { return x < 0 ? u32(0) - static_cast<u32>(x) : static_cast<u32>(x); }
TYTO_VECTOR_INLINE u64 size_of_number(i64 x) { return x < 0 ? u64(0) - static_cast<u64>(x) : static_cast<u64>(x); }
TYTO_VECTOR_INLINE u64 size_of_number(u64 x) { return x; }

/// Euclid's algorithm.
template <class Unsigned>
static inline Unsigned common_divisor(Unsigned a, Unsigned b) {
  while (b != 0) {
    const Unsigned rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
template <class T>
TYTO_VECTOR_INLINE T gcd(T a, T b) {
  return static_cast<T>(common_divisor(size_of_number(a), size_of_number(b)));
}
/// Wraps, as products do.
template <class T>
TYTO_VECTOR_INLINE T lcm(T a, T b) {
  const auto x = size_of_number(a), y = size_of_number(b), divisor = common_divisor(x, y);
  return divisor == 0 ? T(0) : static_cast<T>(x / divisor * y);
}
#endif

/// log10(2) in two parts, the first short enough for n times it to be exact, and the reciprocal.
template <class T>
struct Log2Of10;
template <>
struct Log2Of10<f32> {
  static constexpr f32 high = 0x1.344p-2f, low = 0x1.3509f8p-18f, reciprocal = 0x1.a934fp+1f, ln = 0x1.26bb1cp+1f;
};
template <>
struct Log2Of10<f64> {
  static constexpr f64 high = 0x1.34413509f8p-2, low = -0x1.80433b83b532ap-44, reciprocal = 0x1.a934f0979a371p+1,
                       ln = 0x1.26bb1bbb55516p+1;
};

/// 10^x. At most 2 ulp.
template <class T>
TYTO_VECTOR_INLINE T exp10(T x) {
  using C = Log2Of10<T>;
  constexpr T low = is_single<T> ? T(-46) : T(-325), high = is_single<T> ? T(39) : T(309.5);
  const T c = clamp(x, low, high);
  const T n = mul_add(c, C::reciprocal, Format<T>::shifter) - Format<T>::shifter;
  const T r = mul_add(n, -C::low, mul_add(n, -C::high, c)) * C::ln;
  return scale(mul_add(r * r, exp_series(r), r) + T(1), n);
}

/// log(e^a + e^b). Where both are equal and infinite their difference is NaN and the answer is their value.
template <class T>
TYTO_VECTOR_INLINE T logaddexp(T a, T b) {
  const T distance = select(a == b, T(0), abs(a - b));
  return maximum(a, b) + log1p(exp(-distance));
}

#if defined(TYTO_RECORDED_LANES)
template <class T>
TYTO_VECTOR_INLINE T trigamma(T x) {
  return unrecordable(x);
}
#else
/// The second derivative of log(Gamma(x)) for x > 0: recurrence up to 10, then the asymptotic series.
static inline f64 trigamma_positive(f64 x) {
  f64 sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / (x * x);
  const f64 inverse = 1.0 / x, z = inverse * inverse;
  const f64 series =
      polynomial(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510);
  return sum + (inverse + 0.5 * z + inverse * z * series);
}

/// The derivative of digamma: +inf at its poles 0, -1, -2, ...
static inline f64 trigamma(f64 x) {
  if (!(x <= 0.0)) return trigamma_positive(x);
  if (x == floor(x)) return Format<f64>::infinity;
  const f64 s = sin_near((x - rint(x)) * 3.14159265358979324);
  return 9.8696044010893586 / (s * s) - trigamma_positive(1.0 - x);
}
static inline f32 trigamma(f32 x) { return static_cast<f32>(trigamma(static_cast<f64>(x))); }

#endif

}  // namespace tyto::cpu::TYTO_ISA
