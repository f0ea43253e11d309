// SPDX-License-Identifier: MIT
// Signs, minima and maxima, quotients and remainders of floating-point numbers and integers, as NumPy defines them.
#pragma once

#include "devices/cpu/arithmetic/vector_math/bits.hpp"

namespace tyto::cpu::TYTO_ISA {

/// -1, 0 or 1; NaN of NaN.
template <class T>
TYTO_VECTOR_INLINE T sign(T x) {
  return select(x > T(0), T(1), select(x < T(0), T(-1), select(x == T(0), T(0), x)));
}

/// The larger; NaN where either is.
template <class T>
TYTO_VECTOR_INLINE T maximum(T a, T b) {
  return select(a >= b || a != a, a, b);
}
/// The smaller; NaN where either is.
template <class T>
TYTO_VECTOR_INLINE T minimum(T a, T b) {
  return select(a <= b || a != a, a, b);
}
/// The larger; the other one where one is NaN.
template <class T>
TYTO_VECTOR_INLINE T fmax(T a, T b) {
  return select(a >= b || b != b, a, b);
}
/// The smaller; the other one where one is NaN.
template <class T>
TYTO_VECTOR_INLINE T fmin(T a, T b) {
  return select(a <= b || b != b, a, b);
}

/// Whether fmod_near takes a and b: a quotient small enough for one exact step.
TYTO_VECTOR_INLINE mask fmod_is_near(f32 a, f32 b) {
  return abs(a) < abs(b) * 0x1p24f && abs(b) < Format<f32>::infinity;
}
TYTO_VECTOR_INLINE mask fmod_is_near(f64 a, f64 b) {
  return abs(a) < abs(b) * 0x1p50 && abs(b) < 0x1p900 && abs(b) > 0x1p-900;
}

/// fmod by one division; for finite a, b whose quotient is small (fmod_is_near). Vectorises; fmod does not.
TYTO_VECTOR_INLINE f32 fmod_near(f32 a, f32 b) {
  const f64 x = static_cast<f64>(abs(a)), y = static_cast<f64>(abs(b));
  const f64 r =
      x - trunc(x / y) * y;  // exact: at most 24 + 24 bits; the quotient may have been rounded up to the next integer
  return copysign(static_cast<f32>(select(r < f64(0), r + y, r)), a);
}
TYTO_VECTOR_INLINE f64 fmod_near(f64 a, f64 b) {
  const f64 x = abs(a), y = abs(b);
  const Pair p = exact_product(trunc(x / y), y);
  const f64 r = (x - p.high) - p.low;
  return copysign(select(r < f64(0), r + y, r), a);
}

#if defined(TYTO_RECORDED_LANES)
template <class T>
TYTO_VECTOR_INLINE T fmod(T a, T b) {
  require(fmod_is_near(a, b));
  return fmod_near(a, b);
}
#else
TYTO_VECTOR_INLINE f32 fmod(f32 a, f32 b) { return fmod_is_near(a, b) ? fmod_near(a, b) : __builtin_fmodf(a, b); }
TYTO_VECTOR_INLINE f64 fmod(f64 a, f64 b) { return fmod_is_near(a, b) ? fmod_near(a, b) : __builtin_fmod(a, b); }
#endif

/// The remainder with the sign of b, from m = fmod(a, b).
template <class T>
TYTO_VECTOR_INLINE T remainder_from(T m, T b) {
  const T moved = select((m < T(0)) != (b < T(0)), m + b, m);
  return select(m == T(0), copysign(T(0), b), moved);
}

/// floor(a / b), exact where the rounded quotient would not be, from m = fmod(a, b).
template <class T>
TYTO_VECTOR_INLINE T floor_divide_from(T m, T a, T b) {
  const T quotient = a / b;
  const T moved = (a - m) / b - select(m != T(0) && (m < T(0)) != (b < T(0)), T(1), T(0));
  const T down = floor(moved);
  const T whole = down + select(moved - down > T(0.5), T(1), T(0));
  return select(b == T(0), quotient, select(moved == T(0), copysign(T(0), quotient), whole));
}

template <class T>
TYTO_VECTOR_INLINE T remainder(T a, T b) {
  return remainder_from(fmod(a, b), b);
}
template <class T>
TYTO_VECTOR_INLINE T floor_divide(T a, T b) {
  return floor_divide_from(fmod(a, b), a, b);
}

TYTO_VECTOR_INLINE i32 abs(i32 x) { return select(x < 0, i32(0) - x, x); }
TYTO_VECTOR_INLINE i64 abs(i64 x) { return select(x < 0, i64(0) - x, x); }
TYTO_VECTOR_INLINE i64 sign(i64 x) { return select(x > 0, i64(1), select(x < 0, i64(-1), i64(0))); }
TYTO_VECTOR_INLINE i32 maximum(i32 a, i32 b) { return select(a > b, a, b); }
TYTO_VECTOR_INLINE i64 maximum(i64 a, i64 b) { return select(a > b, a, b); }
TYTO_VECTOR_INLINE i32 minimum(i32 a, i32 b) { return select(a < b, a, b); }
TYTO_VECTOR_INLINE i64 minimum(i64 a, i64 b) { return select(a < b, a, b); }
TYTO_VECTOR_INLINE i32 sign(i32 x) { return minimum(maximum(x, i32(-1)), i32(1)); }

/// The quotient towards zero, through f64 where that is exact: processors have no vector division of integers.
/// Division by zero gives 0, and the one quotient that overflows wraps; neither traps, floating-point exceptions being
/// masked as they are by default.
#if defined(TYTO_RECORDED_LANES)
TYTO_VECTOR_INLINE i32 truncated_quotient(i32 a, i32 b) {
  // For numbers out of the range of i32 x86 returns -2^31, which is the quotient that wraps.
  const i32 q = static_cast<i32>(static_cast<f64>(a) / static_cast<f64>(b));
  return select(b == 0, i32(0), q);
}
TYTO_VECTOR_INLINE i64 truncated_quotient(i64 a, i64) { return unrecordable(a); }
#else
TYTO_VECTOR_INLINE i32 truncated_quotient(i32 a, i32 b) {
  const mask overflow = a == INT32_MIN && b == -1;
  const f64 divisor = static_cast<f64>(select(b == 0 || overflow, i32(1), b));
  const i32 q = static_cast<i32>(static_cast<f64>(a) / divisor);
  return select(b == 0, i32(0), q);
}
TYTO_VECTOR_INLINE i64 truncated_quotient(i64 a, i64 b) {
  const mask overflow = a == INT64_MIN && b == -1;
  const i64 q = a / (b == 0 || overflow ? 1 : b);
  return b == 0 ? 0 : q;
}
#endif

/// a - q b in wrapping arithmetic; 0 for b == 0.
template <class T>
TYTO_VECTOR_INLINE T integer_fmod(T a, T b) {
  return select(b == T(0), T(0), a - truncated_quotient(a, b) * b);
}
/// Whether the remainder towards zero has to be moved by b to have b's sign.
template <class T>
TYTO_VECTOR_INLINE mask is_across_zero(T m, T b) {
  return (m != T(0)) & ((m ^ b) < T(0));
}
template <class T>
TYTO_VECTOR_INLINE T integer_remainder(T a, T b) {
  const T m = integer_fmod(a, b);
  return m + select(is_across_zero(m, b), b, T(0));
}
template <class T>
TYTO_VECTOR_INLINE T integer_floor_divide(T a, T b) {
  return truncated_quotient(a, b) - select(is_across_zero(integer_fmod(a, b), b), T(1), T(0));
}
TYTO_VECTOR_INLINE i32 fmod(i32 a, i32 b) { return integer_fmod(a, b); }
TYTO_VECTOR_INLINE i64 fmod(i64 a, i64 b) { return integer_fmod(a, b); }
TYTO_VECTOR_INLINE i32 remainder(i32 a, i32 b) { return integer_remainder(a, b); }
TYTO_VECTOR_INLINE i64 remainder(i64 a, i64 b) { return integer_remainder(a, b); }
TYTO_VECTOR_INLINE i32 floor_divide(i32 a, i32 b) { return integer_floor_divide(a, b); }
TYTO_VECTOR_INLINE i64 floor_divide(i64 a, i64 b) { return integer_floor_divide(a, b); }

#if !defined(TYTO_RECORDED_LANES)
// Without a sign, quotients are rounded one way only. By zero they are 0, as those of signed integers.
TYTO_VECTOR_INLINE u64 abs(u64 x) { return x; }
TYTO_VECTOR_INLINE u64 sign(u64 x) { return x != 0 ? 1 : 0; }
TYTO_VECTOR_INLINE u64 floor_divide(u64 a, u64 b) { return b == 0 ? 0 : a / b; }
TYTO_VECTOR_INLINE u64 fmod(u64 a, u64 b) { return b == 0 ? 0 : a % b; }
TYTO_VECTOR_INLINE u64 remainder(u64 a, u64 b) { return fmod(a, b); }
#endif

}  // namespace tyto::cpu::TYTO_ISA
