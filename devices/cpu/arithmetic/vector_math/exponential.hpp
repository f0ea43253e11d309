// SPDX-License-Identifier: MIT
// exp and what is made of it: exp2, expm1, sinh, cosh, tanh, sigmoid.
#pragma once

#include "devices/cpu/arithmetic/vector_math/bits.hpp"

namespace tyto::cpu::TYTO_ISA {

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
TYTO_VECTOR_INLINE f32 exp_series(f32 r) {
  return polynomial(r, 0.5f, 1.666657694e-1f, 4.166655455e-2f, 8.363187671e-3f, 1.392619435e-3f);
}
TYTO_VECTOR_INLINE f64 exp_series(f64 r) {
  return polynomial(r, 5.00000000000000102e-1, 1.66666666666666675e-1, 4.16666666666240788e-2, 8.33333333333005806e-3,
                    1.38888889172382326e-3, 1.98412698630724699e-4, 2.4801521257866648e-5, 2.75572684307070998e-6,
                    2.76201065595141668e-7, 2.51003994254519854e-8);
}

/// x = n ln(2) + r, n integral and |r| <= ln(2) / 2.
template <class T>
struct ExpArgument {
  T shifted;  // n as a shifted sum
  T n;
  T r;
};

/// ln(2) in two parts; the first has few enough bits for n times it to be exact.
template <class T>
struct Ln2;
template <>
struct Ln2<f32> {
  static constexpr f32 high = 0x1.62e4p-1f, low = 0x1.7f7d1cp-20f, reciprocal = 0x1.715476p+0f;
};
template <>
struct Ln2<f64> {
  static constexpr f64 high = 0x1.62e42fefa38p-1, low = 0x1.ef35793c7673p-45, reciprocal = 0x1.71547652b82fep+0;
};

template <class T>
TYTO_VECTOR_INLINE ExpArgument<T> split_exponent(T x) {
  const T shifted = mul_add(x, Ln2<T>::reciprocal, Format<T>::shifter);
  const T n = shifted - Format<T>::shifter;
  return {shifted, n, mul_add(n, -Ln2<T>::low, mul_add(n, -Ln2<T>::high, x))};
}

/// Below the first of these exp is 0, above the second infinity.
template <class T>
inline constexpr T exp_lowest = is_single<T> ? T(-104) : T(-746);
template <class T>
inline constexpr T exp_highest = is_single<T> ? T(89.5) : T(710.5);

/// e^r for |r| <= ln(2) / 2.
template <class T>
TYTO_VECTOR_INLINE T exp_near(T r) {
  return mul_add(r * r, exp_series(r), r) + T(1);
}

/// e^x * 2^k for small k <= 0, with one rounding at the end even where e^x alone would overflow or lose bits.
template <class T>
TYTO_VECTOR_INLINE T exp_scaled(T x, int k) {
#if TYTO_SCALING_INSTRUCTION
  const ExpArgument<T> a = split_exponent(clamp(x, exp_lowest<T>, exp_highest<T>));
  return scale(exp_near(a.r), k == 0 ? a.n : a.n + T(k));
#else
  // Results of far arguments are useless, and replaced: that is cheaper than to reduce these first.
  const ExpArgument<T> a = split_exponent(x);
  const T y = scale_shifted(exp_near(a.r), a.shifted, k);
  return select(x > exp_highest<T>, Format<T>::infinity, select(x < exp_lowest<T>, T(0), y));
#endif
}

/// e^x for x <= 0.
template <class T>
TYTO_VECTOR_INLINE T exp_below_zero(T x) {
#if TYTO_SCALING_INSTRUCTION
  const ExpArgument<T> a = split_exponent(select(x < exp_lowest<T>, exp_lowest<T>, x));
  return scale(exp_near(a.r), a.n);
#else
  const ExpArgument<T> a = split_exponent(x);
  return select(x < exp_lowest<T>, T(0), scale_shifted(exp_near(a.r), a.shifted));
#endif
}

template <class T>
TYTO_VECTOR_INLINE T exp(T x) {
  return exp_scaled(x, 0);
}

template <class T>
TYTO_VECTOR_INLINE T exp2(T x) {
  constexpr T low = is_single<T> ? T(-151) : T(-1076), high = is_single<T> ? T(128) : T(1024);
  const T c = clamp(x, low, high);
  const T n = (c + Format<T>::shifter) - Format<T>::shifter;
  const T r = (c - n) * T(0x1.62e42fefa39efp-1);
  return scale(exp_near(r), n);
}

/// e^x - 1 of x no less than -40 and no more than what half of 2^n bears; of zero either zero.
template <class T>
TYTO_VECTOR_INLINE T expm1_near(T x) {
  const ExpArgument<T> a = split_exponent(x);
  const T p = mul_add(a.r * a.r, exp_series(a.r), a.r);
  // Half of 2^n throughout: 2^n alone overflows for the largest n whose result does not.
  const T half = power_of_two_shifted(a.shifted - T(1));
  const T whole = T(2) * mul_add(half, p, half - T(0.5));
  // At n = 0 the series alone is the answer, to its last bit.
  return select(a.n == T(0), p, whole);
}

template <class T>
TYTO_VECTOR_INLINE T expm1(T x) {
  // Below -40 the answer is -1 in either format; above the upper end it is infinity.
  const T y = expm1_near(clamp(x, T(-40), is_single<T> ? T(89) : T(710)));
  return select(x == T(0), x, y);  // with zero's sign
}

template <class T>
TYTO_VECTOR_INLINE T sigmoid(T x) {
  // By e^-|x|, so that neither side overflows and small results keep all their bits.
  const T e = exp_below_zero(-abs(x));
  return select(x < T(0), e, T(1)) / (T(1) + e);
}

template <class T>
TYTO_VECTOR_INLINE T tanh(T x) {
  const T twice = T(-2) * abs(x);
  const T t = expm1_near(select(twice < T(-40), T(-40), twice));
  return copysign(t / (T(2) + t), x);
}

template <class T>
TYTO_VECTOR_INLINE T cosh(T x) {
  const T half_exp = exp_scaled(abs(x), -1);
  return half_exp + T(0.25) / half_exp;
}

/// (sinh(x) - x) / x^3 of z = x^2 <= 1.
TYTO_VECTOR_INLINE f32 sinh_series(f32 z) {
  return polynomial(z, 1.666666665e-1f, 8.333339678e-3f, 1.983810133e-4f, 2.806285358e-6f);
}
TYTO_VECTOR_INLINE f64 sinh_series(f64 z) {
  return polynomial(z, 1.66666666666666667e-1, 8.33333333333329933e-3, 1.98412698413242252e-4, 2.75573191913687416e-6,
                    2.5052117698709823e-8, 1.60576793498202312e-10, 7.74618855614232637e-13);
}

template <class T>
TYTO_VECTOR_INLINE T sinh(T x) {
  const T a = abs(x);
  const T half_exp = exp_scaled(a, -1);
  const T far = half_exp - T(0.25) / half_exp;
  const T z = a * a;
  const T near = mul_add(a * z, sinh_series(z), a);
  return copysign(select(a < T(1), near, far), x);
}

}  // namespace tyto::cpu::TYTO_ISA
