// pow, cbrt, hypot, rsqrt, and integer powers.
#pragma once

#include "devices/cpu/vector_math/logarithm.hpp"

namespace tyto::cpu::TYTO_ISA {

/// What pow(x, y) makes of |x|^y: the sign of an odd power, NaN of a broken power of a negative number, and the two
/// ones that beat NaN.
template <class T>
TYTO_VECTOR_INLINE T power_ends(T x, T y, T magnitude) {
  const bool integral = rint(y) == y, odd = integral && rint(y * T(0.5)) != y * T(0.5);
  const T negative = select(odd, -magnitude, magnitude);
  const bool broken = x < T(0) && x > -Format<T>::infinity && !integral;
  const T signed_power = select(broken, Format<T>::nan, select(copysign(T(1), x) < T(0), negative, magnitude));
  const bool one = y == T(0) || x == T(1) || (x == T(-1) && abs(y) == Format<T>::infinity);
  return select(one, T(1), signed_power);
}

/// log2(x) to 2^-40 for a normal x > 0: the logarithm within float powers.
TYTO_VECTOR_INLINE double log2_wide(double x) {
  const LogArgument<double> a = split_logarithm(x);
  const double s = a.fraction / (2.0 + a.fraction), z = s * s;
  const double p = polynomial(z, 6.66666666673752336e-1, 3.9999998797142038e-1, 2.85717545758395364e-1,
                              2.21913982955226945e-1, 1.9362702963383444e-1);
  return mul_add(mul_add(s * z, p, 2.0 * s), 0x1.71547652b82fep+0, a.exponent);
}

/// 2^x to 2^-31 for |x| <= 1000.
TYTO_VECTOR_INLINE double exp2_wide(double x) {
  const double shifted = x + Format<double>::shifter;
  const double r = (x - (shifted - Format<double>::shifter)) * 0x1.62e42fefa39efp-1;
  const double p = polynomial(r, 5.00000001347746583e-1, 1.66666666816361769e-1, 4.16664648088436661e-2,
                              8.33331091254967457e-3, 1.39336629191264927e-3, 1.98910051755224758e-4);
  return (mul_add(r * r, p, r) + 1.0) * power_of_two_shifted(shifted);
}

TYTO_VECTOR_INLINE float pow(float x, float y) {
  const double a = static_cast<double>(abs(x));
  // 2^+-1024 as the logarithm of infinity and 0: their powers clamp, and NaN (0 * infinity) cannot arise but where pow
  // is 1.
  double l = log2_wide(a);
  l = select(a == 0.0, -Format<double>::infinity, select(a < Format<double>::infinity, l, a));
  const double power = exp2_wide(clamp(static_cast<double>(y) * l, -300.0, 300.0));
  return power_ends(x, y, static_cast<float>(power));
}

TYTO_VECTOR_INLINE double pow(double x, double y) {
  const double a = abs(x);
  const LogArgument<double> parts = split_any_logarithm(a);
  const double f = parts.fraction;
  // s = f / (2 + f) as a pair: one step of division on the exact remainder.
  const Pair below = quick_sum(2.0, f);
  const double s = f / below.high;
  const Pair back = exact_product(s, below.high);
  const double s_low = ((f - back.high) - back.low - s * below.low) / below.high;
  // log(1 + f) = 2 s + s^3 (2/3 + z tail(z)): the terms before the tail as pairs.
  const Pair square = exact_product(s, s);
  const double z = square.high, z_low = mul_add(2.0 * s, s_low, square.low);
  const double tail =
      polynomial(z, 3.99999999999999998e-1, 2.85714285714293659e-1, 2.22222222216560932e-1, 1.81818183353457588e-1,
                 1.53845949675449422e-1, 1.33348044204635566e-1, 1.17062436604867708e-1, 1.17231020665083433e-1);
  const Pair factor = quick_sum(0x1.5555555555555p-1, mul_add(z, tail, 0x1.5555555555555p-55));
  const Pair cube = exact_product(s, z);
  const double cube_low = cube.low + mul_add(s_low, z, s * z_low);
  const Pair third = exact_product(cube.high, factor.high);
  const double third_low = third.low + mul_add(cube.high, factor.low, cube_low * factor.high);
  const Pair sum = quick_sum(2.0 * s, third.high);
  const Pair whole = exact_sum(parts.exponent * Ln2<double>::high, sum.high);
  const double l_low = whole.low + (sum.low + (mul_add(2.0, s_low, third_low) + parts.exponent * Ln2<double>::low));
  const Pair l = quick_sum(whole.high, l_low);
  // y l as a pair, into e^(high + low); the clamp is far outside what doubles hold.
  const double yl = y * select(a == 0.0, -Format<double>::infinity, select(a < Format<double>::infinity, l.high, a));
  const double high = clamp(yl, -800.0, 800.0);
  const Pair product = exact_product(clamp(y, -0x1p900, 0x1p900), l.high);  // larger ones are outside unless l is 0
  const bool inside = abs(yl) < 800.0 && a > 0.0 && a < Format<double>::infinity;
  const double low = select(inside, mul_add(y, l.low, product.low), 0.0);
  ExpArgument<double> e = split_exponent(high);
  // e^(r + low) = e^r (1 + low) to far below the last bit.
  const double p = mul_add(e.r * e.r, exp_series(e.r), e.r);
  const double magnitude = scale(1.0 + (p + mul_add(p, low, low)), e.n);
  return power_ends(x, y, magnitude);
}

/// The cube root by two steps of Halley from a third of the exponent; the third step (Newton's) is for double only.
TYTO_VECTOR_INLINE double cbrt_start(double a) {
  // The high half of the bits as a number, so that SSE2 divides it by three; 0.033 balances the error of the straight
  // line through the mantissa.
  const double high = from_bits((bits_of(a) >> 32) | bits_of(0x1p52)) - 0x1p52;
  const double third = mul_add(high, 1.0 / 3.0, (682.0 - 0.0330623) * 0x1p20);
  double t = from_bits(bits_of(third + 0x1p52) << 32);
  for (int step = 0; step < 2; ++step) {
    const double cube = t * t * t;
    t *= (cube + 2.0 * a) / (2.0 * cube + a);
  }
  return t;
}

TYTO_VECTOR_INLINE float cbrt(float x) {
  const float a = abs(x);
  const float r = static_cast<float>(cbrt_start(static_cast<double>(a)));
  return copysign(select(a > 0.0f && a < Format<float>::infinity, r, a), x);
}

TYTO_VECTOR_INLINE double cbrt(double x) {
  const double a = abs(x);
  const bool tiny = a<0x1p-900, huge = a> 0x1p900;
  const double y = a * select(tiny, 0x1p216, select(huge, 0x1p-216, 1.0));
  const double t = cbrt_start(y);
  const double r = t - (t - y / (t * t)) * (1.0 / 3.0);
  const double scaled = r * select(tiny, 0x1p-72, select(huge, 0x1p72, 1.0));
  return copysign(select(a > 0.0 && a < Format<double>::infinity, scaled, a), x);
}

TYTO_VECTOR_INLINE float hypot(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y);
  const float r = static_cast<float>(sqrt(a * a + b * b));
  const bool infinite = abs(x) == Format<float>::infinity || abs(y) == Format<float>::infinity;
  return select(infinite, Format<float>::infinity, r);
}

TYTO_VECTOR_INLINE double hypot(double x, double y) {
  const double a = abs(x), b = abs(y);
  const double large = select(a > b, a, b), small = select(a > b, b, a);
  const bool tiny = large<0x1p-500, huge = large> 0x1p500;
  const double down = select(tiny, 0x1p600, select(huge, 0x1p-600, 1.0));
  const double u = large * down, v = small * down;
  const double r = sqrt(mul_add(u, u, v * v)) * select(tiny, 0x1p-600, select(huge, 0x1p600, 1.0));
  return select(a == Format<double>::infinity || b == Format<double>::infinity, Format<double>::infinity, r);
}

template <class T>
TYTO_VECTOR_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

/// base^exponent with wrap-around; a negative exponent gives the integral part of the quotient (0 but for bases 1, -1),
/// and 0 for base 0.
template <class T, class Unsigned>
TYTO_VECTOR_INLINE T integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? T(1) : base == -1 ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
  Unsigned result = 1, square = static_cast<Unsigned>(base);
  for (Unsigned left = static_cast<Unsigned>(exponent); left != 0; left >>= 1) {
    result *= (left & 1) != 0 ? square : Unsigned{1};
    square *= square;
  }
  return static_cast<T>(result);
}
TYTO_VECTOR_INLINE int32_t pow(int32_t base, int32_t exponent) {
  return integer_power<int32_t, uint32_t>(base, exponent);
}
TYTO_VECTOR_INLINE int64_t pow(int64_t base, int64_t exponent) {
  return integer_power<int64_t, uint64_t>(base, exponent);
}

}  // namespace tyto::cpu::TYTO_ISA
