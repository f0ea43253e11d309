// SPDX-License-Identifier: MIT
// pow, cbrt, hypot, rsqrt, and integer powers.
#pragma once

#include "devices/cpu/arithmetic/vector_math/logarithm.hpp"

namespace tyto::cpu::TYTO_ISA {

/// Turns |x|^y into pow(x, y): the sign of an odd power, NaN of a broken power of a negative number, the two ones that
/// beat NaN, and x^1, which is x to the last bit.
template <class T>
TYTO_VECTOR_INLINE T power_ends(T x, T y, T magnitude) {
  const mask integral = rint(y) == y, odd = integral && rint(y * T(0.5)) != y * T(0.5);
  const T negative = select(odd, -magnitude, magnitude);
  const mask broken = x < T(0) && x > -Format<T>::infinity && !integral;
  const T signed_power = select(broken, Format<T>::nan, select(copysign(T(1), x) < T(0), negative, magnitude));
  const mask one = y == T(0) || x == T(1) || (x == T(-1) && abs(y) == Format<T>::infinity);
  return select(one, T(1), select(y == T(1), x, signed_power));
}

/// log2(x) to 2^-40 for a normal x > 0: the logarithm within f32 powers.
TYTO_VECTOR_INLINE f64 log2_wide(f64 x) {
  const LogArgument<f64> a = split_logarithm(x);
  const f64 s = a.fraction / (2.0 + a.fraction), z = s * s;
  const f64 p = polynomial(z, 6.66666666673752336e-1, 3.9999998797142038e-1, 2.85717545758395364e-1,
                           2.21913982955226945e-1, 1.9362702963383444e-1);
  return mul_add(mul_add(s * z, p, 2.0 * s), 0x1.71547652b82fep+0, a.exponent);
}

/// 2^x to 2^-31 for |x| <= 1000.
TYTO_VECTOR_INLINE f64 exp2_wide(f64 x) {
  const f64 shifted = x + Format<f64>::shifter;
  const f64 r = (x - (shifted - Format<f64>::shifter)) * 0x1.62e42fefa39efp-1;
  const f64 p = polynomial(r, 5.00000001347746583e-1, 1.66666666816361769e-1, 4.16664648088436661e-2,
                           8.33331091254967457e-3, 1.39336629191264927e-3, 1.98910051755224758e-4);
  return (mul_add(r * r, p, r) + 1.0) * power_of_two_shifted(shifted);
}

TYTO_VECTOR_INLINE f32 pow(f32 x, f32 y) {
  const f64 a = static_cast<f64>(abs(x));
  // 2^+-1024 as the logarithm of infinity and 0: their powers clamp, and NaN (0 * infinity) cannot arise but where pow
  // is 1.
  f64 l = log2_wide(a);
  l = select(a == 0.0, -Format<f64>::infinity, select(a < Format<f64>::infinity, l, a));
  const f64 power = exp2_wide(clamp(static_cast<f64>(y) * l, f64(-300.0), f64(300.0)));
  return power_ends(x, y, static_cast<f32>(power));
}

TYTO_VECTOR_INLINE f64 pow(f64 x, f64 y) {
  const f64 a = abs(x);
  const LogArgument<f64> parts = split_any_logarithm(a);
  const f64 f = parts.fraction;
  // s = f / (2 + f) as a pair: one step of division on the exact remainder.
  const Pair below = quick_sum(2.0, f);
  const f64 s = f / below.high;
  const Pair back = exact_product(s, below.high);
  const f64 s_low = ((f - back.high) - back.low - s * below.low) / below.high;
  // log(1 + f) = 2 s + s^3 (2/3 + z tail(z)): the terms before the tail as pairs.
  const Pair square = exact_product(s, s);
  const f64 z = square.high, z_low = mul_add(2.0 * s, s_low, square.low);
  const f64 tail =
      polynomial(z, 3.99999999999999998e-1, 2.85714285714293659e-1, 2.22222222216560932e-1, 1.81818183353457588e-1,
                 1.53845949675449422e-1, 1.33348044204635566e-1, 1.17062436604867708e-1, 1.17231020665083433e-1);
  const Pair factor = quick_sum(0x1.5555555555555p-1, mul_add(z, tail, 0x1.5555555555555p-55));
  const Pair cube = exact_product(s, z);
  const f64 cube_low = cube.low + mul_add(s_low, z, s * z_low);
  const Pair third = exact_product(cube.high, factor.high);
  const f64 third_low = third.low + mul_add(cube.high, factor.low, cube_low * factor.high);
  const Pair sum = quick_sum(2.0 * s, third.high);
  const Pair whole = exact_sum(parts.exponent * Ln2<f64>::high, sum.high);
  const f64 l_low = whole.low + (sum.low + (mul_add(2.0, s_low, third_low) + parts.exponent * Ln2<f64>::low));
  const Pair l = quick_sum(whole.high, l_low);
  // y l as a pair, into e^(high + low); the clamp is far outside what doubles hold.
  const f64 yl = y * select(a == 0.0, -Format<f64>::infinity, select(a < Format<f64>::infinity, l.high, a));
  const f64 high = clamp(yl, f64(-800.0), f64(800.0));
  const Pair product =
      exact_product(clamp(y, f64(-0x1p900), f64(0x1p900)), l.high);  // larger ones are outside unless l is 0
  const mask inside = abs(yl) < 800.0 && a > 0.0 && a < Format<f64>::infinity;
  const f64 low = select(inside, mul_add(y, l.low, product.low), 0.0);
  ExpArgument<f64> e = split_exponent(high);
  // e^(r + low) = e^r (1 + low) to far below the last bit.
  const f64 p = mul_add(e.r * e.r, exp_series(e.r), e.r);
  const f64 magnitude = scale(1.0 + (p + mul_add(p, low, low)), e.n);
  return power_ends(x, y, magnitude);
}

/// The cube root by two steps of Halley from a third of the exponent; the third step (Newton's) is for f64 only.
TYTO_VECTOR_INLINE f64 cbrt_start(f64 a) {
  // The high half of the bits as a number, so that SSE2 divides it by three; 0.033 balances the error of the straight
  // line through the mantissa.
  const f64 high = from_bits((bits_of(a) >> 32) | bits_of(0x1p52)) - 0x1p52;
  const f64 third = mul_add(high, 1.0 / 3.0, (682.0 - 0.0330623) * 0x1p20);
  f64 t = from_bits(bits_of(third + 0x1p52) << 32);
  for (int step = 0; step < 2; ++step) {
    const f64 cube = t * t * t;
    t *= (cube + 2.0 * a) / (2.0 * cube + a);
  }
  return t;
}

TYTO_VECTOR_INLINE f32 cbrt(f32 x) {
  const f32 a = abs(x);
  const f32 r = static_cast<f32>(cbrt_start(static_cast<f64>(a)));
  return copysign(select(a > 0.0f && a < Format<f32>::infinity, r, a), x);
}

TYTO_VECTOR_INLINE f64 cbrt(f64 x) {
  const f64 a = abs(x);
  const mask tiny = a<0x1p-900, huge = a> 0x1p900;
  const f64 y = a * select(tiny, 0x1p216, select(huge, f64(0x1p-216), f64(1.0)));
  const f64 t = cbrt_start(y);
  const f64 r = t - (t - y / (t * t)) * (1.0 / 3.0);
  const f64 scaled = r * select(tiny, 0x1p-72, select(huge, f64(0x1p72), f64(1.0)));
  return copysign(select(a > 0.0 && a < Format<f64>::infinity, scaled, a), x);
}

/// The sum of squares as one number and what its rounding left, which is exact for a square at least as large as the
/// other. Their rounded sum errs by half an ulp and a little, of which the root keeps 0.36, and has half of its own:
/// 0.86 ulp, and 0.93 of a subnormal result. Without fused multiply-add the sum is one in f64, rounded twice.
TYTO_VECTOR_INLINE f32 root_of_squares(f32 large, f32 small) {
#if TYTO_FUSED_MULTIPLY_ADD
  const f32 square = large * large, square_rest = mul_add(large, large, -square);
  const f32 sum = mul_add(small, small, square), sum_rest = mul_add(small, small, square - sum);
  return sqrt(sum + (square_rest + sum_rest));
#else
  const f64 u = static_cast<f64>(large), v = static_cast<f64>(small);
  return sqrt(static_cast<f32>(u * u + v * v));
#endif
}

TYTO_VECTOR_INLINE f32 hypot(f32 x, f32 y) {
  const f32 a = abs(x), b = abs(y);
  const f32 large = select(a > b, a, b), small = select(a > b, b, a);
  const mask tiny = large < 0x1p-50f;
  const mask huge = large > 0x1p50f;
  const f32 down = select(tiny, 0x1p104f, select(huge, f32(0x1p-104f), f32(1.0f)));
  const f32 up = from_bits(0x7f000000u - bits_of(down));  // 1 / down
  const f32 r = root_of_squares(large * down, small * down) * up;
  return select(large == Format<f32>::infinity || small == Format<f32>::infinity, Format<f32>::infinity, r);
}

TYTO_VECTOR_INLINE f64 hypot(f64 x, f64 y) {
  const f64 a = abs(x), b = abs(y);
  const f64 large = select(a > b, a, b), small = select(a > b, b, a);
  const mask tiny = large < 0x1p-500;
  const mask huge = large > 0x1p500;
  const f64 down = select(tiny, 0x1p600, select(huge, f64(0x1p-600), f64(1.0)));
  const f64 u = large * down, v = small * down;
  const f64 r = sqrt(mul_add(u, u, v * v)) * select(tiny, 0x1p-600, select(huge, f64(0x1p600), f64(1.0)));
  return select(a == Format<f64>::infinity || b == Format<f64>::infinity, Format<f64>::infinity, r);
}

template <class T>
TYTO_VECTOR_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

#if defined(TYTO_RECORDED_LANES)
TYTO_VECTOR_INLINE i32 pow(i32 base, i32) { return unrecordable(base); }
TYTO_VECTOR_INLINE i64 pow(i64 base, i64) { return unrecordable(base); }
#else
/// base^exponent with wrap-around; a negative exponent gives the integral part of the quotient (0 but for bases 1, -1),
/// and 0 for base 0.
template <class Unsigned>
TYTO_VECTOR_INLINE Unsigned wrapping_power(Unsigned base, Unsigned exponent) {
  Unsigned result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) result *= (exponent & 1) != 0 ? base : Unsigned{1};
  return result;
}
template <class T, class Unsigned>
TYTO_VECTOR_INLINE T integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? T(1) : base == -1 ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
  return static_cast<T>(wrapping_power(static_cast<Unsigned>(base), static_cast<Unsigned>(exponent)));
}
TYTO_VECTOR_INLINE i32 pow(i32 base, i32 exponent) { return integer_power<i32, u32>(base, exponent); }
TYTO_VECTOR_INLINE i64 pow(i64 base, i64 exponent) { return integer_power<i64, u64>(base, exponent); }
TYTO_VECTOR_INLINE u64 pow(u64 base, u64 exponent) { return wrapping_power(base, exponent); }
#endif

}  // namespace tyto::cpu::TYTO_ISA
