// SPDX-License-Identifier: MIT
// log and what is made of it: log2, log10, log1p, softplus, log_sigmoid, asinh, acosh, atanh.
#pragma once

#include "devices/cpu/arithmetic/vector_math/exponential.hpp"

namespace tyto::cpu::TYTO_ISA {

/// x = 2^exponent * (1 + fraction), the factor between sqrt(1/2) and sqrt(2).
template <class T>
struct LogArgument {
  T exponent;
  T fraction;
};

/// Splits a normal x > 0 into exponent and fraction.
TYTO_VECTOR_INLINE LogArgument<f32> split_logarithm(f32 x) {
  constexpr u32 root_half = 0x3f3504f3u;
  const u32 offset = bits_of(x) - root_half;
  const f32 m = from_bits((offset & Format<f32>::mantissa) + root_half);
  return {static_cast<f32>(static_cast<i32>(offset) >> 23), m - 1.0f};
}
TYTO_VECTOR_INLINE LogArgument<f64> split_logarithm(f64 x) {
  constexpr u64 root_half = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
  // The exponent stays biased, and so positive: SSE2 and AVX2 cannot shift signed 64-bit integers nor convert them.
  const u64 offset = bits_of(x) + (one - root_half);
  const f64 m = from_bits((offset & Format<f64>::mantissa) + root_half);
  const f64 exponent = from_bits((offset >> 52) | bits_of(0x1p52)) - (0x1p52 + 1023.0);
  return {exponent, m - 1.0};
}

/// log(1 + f) in two parts whose sum it is: f, and the rest of the series.
TYTO_VECTOR_INLINE f32 log_rest(f32 f) {
  const f32 p = polynomial(f, 3.333333118e-1f, -2.499999695e-1f, 2.00007159e-1f, -1.66678028e-1f, 1.424905261e-1f,
                           -1.242567094e-1f, 1.16854564e-1f, -1.147988164e-1f, 6.971702169e-2f);
  const f32 square = f * f;
  return mul_add(square * f, p, -0.5f * square);
}
/// (log((1 + s) / (1 - s)) - 2s) / s^3 of z = s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1).
TYTO_VECTOR_INLINE f64 log_series(f64 z) {
  return polynomial(z, 6.66666666666666665e-1, 4.00000000000008772e-1, 2.85714285708034591e-1, 2.22222223917485341e-1,
                    1.81817956364339704e-1, 1.53862399040025194e-1, 1.32687677507692731e-1, 1.30866824927947131e-1);
}
TYTO_VECTOR_INLINE f64 log_rest(f64 f) {
  const f64 s = f / (2.0 + f);
  const f64 z = s * s;
  const f64 half_square = 0.5 * f * f;
  return s * mul_add(z, log_series(z), half_square) - half_square;
}

/// The ends of log functions: -inf at 0, NaN below, inf and NaN unchanged.
template <class T>
TYTO_VECTOR_INLINE T log_ends(T x, T result) {
  const T positive = select(x < Format<T>::infinity, result, x);
  return select(x > T(0), positive, select(x == T(0), -Format<T>::infinity, Format<T>::nan + x));
}

/// As split_logarithm, denormal numbers included.
template <class T>
TYTO_VECTOR_INLINE LogArgument<T> split_any_logarithm(T x) {
  constexpr T up = is_single<T> ? T(0x1p23) : T(0x1p54), down = is_single<T> ? T(23) : T(54);
  const mask small = x < Format<T>::smallest_normal;
  LogArgument<T> a = split_logarithm(select(small, x * up, x));
  a.exponent -= select(small, down, T(0));
  return a;
}

template <class T>
TYTO_VECTOR_INLINE T log_of_parts(LogArgument<T> a) {
  const T rest = mul_add(a.exponent, Ln2<T>::low, log_rest(a.fraction));
  return mul_add(a.exponent, Ln2<T>::high, a.fraction + rest);
}

template <class T>
TYTO_VECTOR_INLINE T log(T x) {
  return log_ends(x, log_of_parts(split_any_logarithm(x)));
}

template <class T>
TYTO_VECTOR_INLINE T log2(T x) {
  const LogArgument<T> a = split_any_logarithm(x);
  const T y = a.fraction + log_rest(a.fraction);
  return log_ends(x, mul_add(y, T(0x1.71547652b82fep+0), a.exponent));
}

template <class T>
TYTO_VECTOR_INLINE T log10(T x) {
  constexpr T high = is_single<T> ? T(0x1.344p-2) : T(0x1.34413509f78p-2),
              low = is_single<T> ? T(0x1.3509f8p-18) : T(0x1.fef311f12b358p-46);
  const LogArgument<T> a = split_any_logarithm(x);
  const T y = a.fraction + log_rest(a.fraction);
  return log_ends(x, mul_add(a.exponent, high, mul_add(y, T(0x1.bcb7b1526e50ep-2), a.exponent * low)));
}

template <class T>
TYTO_VECTOR_INLINE T log1p(T x) {
  // u + lost is 1 + x exactly; what the sum lost goes into the fraction, scaled as the fraction is.
  const T u = T(1) + x;
  const T t = u - T(1);
  const T lost = (T(1) - (u - t)) + (x - t);
  LogArgument<T> a = split_logarithm(u);
  const T scaled = lost * power_of_two_shifted(Format<T>::shifter - a.exponent);
  // Far out it does not matter, and the scale is no number at the end of the range.
  a.fraction += select(u < T(4) * Format<T>::integers_from, scaled, T(0));
  return select(x == T(0), x, log_ends(u, log_of_parts(a)));
}

/// log(1 + e^x).
template <class T>
TYTO_VECTOR_INLINE T softplus(T x) {
  const T e = exp_below_zero(-abs(x));
  // log1p(e) for 0 <= e <= 1, where neither its ends nor its general sum are needed.
  const T u = T(1) + e, lost = e - (u - T(1));
  LogArgument<T> a = split_logarithm(u);
  a.fraction = mul_add(lost, power_of_two_shifted(Format<T>::shifter - a.exponent), a.fraction);
  return select(x < T(0), T(0), x) + log_of_parts(a);
}

/// log(1 / (1 + e^-x)).
template <class T>
TYTO_VECTOR_INLINE T log_sigmoid(T x) {
  return -softplus(-x);
}

/// Above this log(2x) stands for log(x + sqrt(x^2 +- 1)), and x^2 is not yet too large.
template <class T>
TYTO_VECTOR_INLINE T far_of_inverse_hyperbolic() {
  return is_single<T> ? T(0x1p30) : T(0x1p60);
}

template <class T>
TYTO_VECTOR_INLINE T asinh(T x) {
  const T a = abs(x);
  const mask far = a > far_of_inverse_hyperbolic<T>();
  const T z = a * a;
  const T near = a + z / (T(1) + sqrt(T(1) + z));
  return copysign(log1p(select(far, a, near)) + select(far, T(0x1.62e42fefa39efp-1), T(0)), x);
}

template <class T>
TYTO_VECTOR_INLINE T acosh(T x) {
  const T t = x - T(1);
  const mask far = t > far_of_inverse_hyperbolic<T>();
  const T near = t + sqrt(mul_add(t, t, T(2) * t));
  const T result = log1p(select(far, t, near)) + select(far, T(0x1.62e42fefa39efp-1), T(0));
  return select(x < T(1), Format<T>::nan, result);
}

template <class T>
TYTO_VECTOR_INLINE T atanh(T x) {
  const T a = abs(x);
  return copysign(T(0.5) * log1p(T(2) * a / (T(1) - a)), x);
}

}  // namespace tyto::cpu::TYTO_ISA
