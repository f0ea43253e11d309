// SPDX-License-Identifier: MIT
// sin, cos, tan over the full range and their inverses.
//
// Two reductions of the argument to |r| <= pi / 4: a cheap one for arguments near zero (Cody and Waite), and one that
// is right for every argument and takes several times as long. sin_near and its kind take the first and are valid where
// |x| <= near_limit<T>(); sin and its kind choose by each element, whatever stands beside it. sin_run and its kind
// (runs.hpp) give the same bits and skip the second where no element of a run needs it. The JIT records the first and
// calls the interpreter's loop for vectors that need the second.
#pragma once

#if defined(TYTO_RECORDED_LANES)
#include "devices/cpu/arithmetic/vector_math/bits.hpp"
#else
#include "devices/cpu/arithmetic/vector_math/two_over_pi.hpp"
#endif

namespace tyto::cpu::TYTO_ISA {

/// x = (quadrant + 4k) pi / 2 + r with |r| <= pi / 4.
template <class T>
struct Angle {
  T r;
  typename Format<T>::Bits quadrant;  // in its two lowest bits
};

/// The largest |x| that the near reduction takes.
template <class T>
TYTO_VECTOR_INLINE T near_limit() {
  return is_single<T> ? (TYTO_FUSED_MULTIPLY_ADD ? T(0x1p15) : T(0x1p12))
                      : (TYTO_FUSED_MULTIPLY_ADD ? T(0x1p30) : T(0x1p19));
}

TYTO_VECTOR_INLINE Angle<f32> reduce_near(f32 x) {
  const f32 shifted = mul_add(x, 0x1.45f306p-1f, Format<f32>::shifter);
  const f32 n = shifted - Format<f32>::shifter;
#if TYTO_FUSED_MULTIPLY_ADD
  f32 r = mul_add(n, -0x1.921fb4p+0f, x);
  r = mul_add(n, -0x1.4442dp-24f, r);
  r = mul_add(n, -0x1.84698ap-48f, r);
#else
  // Parts of 11 bits, so that each product is exact.
  f32 r = x - n * 0x1.92p+0f;
  r -= n * 0x1.fb4p-12f;
  r -= n * 0x1.444p-24f;
  r -= n * 0x1.68cp-39f;
  r -= n * 0x1.1a6264p-54f;
#endif
  return {r, bits_of(shifted)};
}

TYTO_VECTOR_INLINE Angle<f64> reduce_near(f64 x) {
  const f64 shifted = mul_add(x, 0x1.45f306dc9c883p-1, Format<f64>::shifter);
  const f64 n = shifted - Format<f64>::shifter;
#if TYTO_FUSED_MULTIPLY_ADD
  f64 r = mul_add(n, -0x1.921fb54442d18p+0, x);
  r = mul_add(n, -0x1.1a62633145c06p-54, r);
  r = mul_add(n, -0x1.c1cd129024e09p-107, r);
#else
  // Parts of 33 bits, so that each product is exact.
  f64 r = x - n * 0x1.921fb544p+0;
  r -= n * 0x1.0b4611a6p-34;
  r -= n * 0x1.3198a2ep-69;
  r -= n * 0x1.b839a252049c1p-104;
#endif
  return {r, bits_of(shifted)};
}

#if !defined(TYTO_RECORDED_LANES)
/// Every f32: from 2^32 on, x is a power 2^k times an integer below 2^47, which is multiplied by 2^k 2/pi mod 4. Of
/// that the first two parts have 29 bits, so that in f64 the products with the 24 bits of x are exact and whole
/// quadrants can be dropped.
TYTO_VECTOR_INLINE Angle<f32> reduce_full(f32 x) {
  const f64 a = static_cast<f64>(x);
  const mask from_32 = a >= 0x1p32, from_56 = a >= 0x1p56, from_80 = a >= 0x1p80, from_104 = a >= 0x1p104;
  const f64 y =
      a * select(from_104, 0x1p-81, select(from_80, 0x1p-57, select(from_56, 0x1p-33, select(from_32, 0x1p-9, 1.0))));
  const f64 high = select(from_104, 0x1.57d1f53p+1,
                          select(from_80, 0x1.29fc275p+1,
                                 select(from_56, 0x1.3910548p-1, select(from_32, 0x1.f306dc8p+0, 0x1.45f306dp-1))));
  const f64 middle =
      select(from_104, 0x1.377036dp-29,
             select(from_80, 0x1.f47d4d3p-29,
                    select(from_56, 0x1.3f84eafp-28, select(from_32, 0x1.c882a53p-28, 0x1.9391054p-30))));
  const f64 low = select(
      from_104, 0x1.14acc9e21c821p-58,
      select(from_80, 0x1.dc0db6295993cp-59,
             select(from_56, 0x1.47d4d377036d9p-57, select(from_32, 0x1.f09d5f47d4d37p-57, 0x1.4fe13abe8fa9ap-59))));
  const f64 p0 = y * high, n0 = rint(p0);
  const f64 p1 = y * middle, n1 = rint(p1);
  const f64 f = (p0 - n0) + (p1 - n1), n2 = rint(f);
  const f64 shifted = (n0 + n1) + (n2 + Format<f64>::shifter);
  const f64 r = mul_add(y, low, f - n2) * 0x1.921fb54442d18p+0;
  return {static_cast<f32>(r), static_cast<u32>(bits_of(shifted))};
}

/// Every f64: the same with steps of 2^16 and four parts of 53 bits; sums and products that matter are exact.
TYTO_VECTOR_INLINE Angle<f64> reduce_full(f64 x) {
  const u64 exponent = bits_of(x) >> 52;  // x >= 0; column 0 serves up to 2^69
  const u64 above = exponent < 1023 + 53 ? 0 : exponent - (1023 + 53);
  const u64 column = above >> 4 > 60 ? 60 : above >> 4;
  const f64 y = x * from_bits((1023 - 16 * column) << 52);
  const Pair p0 = exact_product(y, two_over_pi[0][column]), p1 = exact_product(y, two_over_pi[1][column]),
             p2 = exact_product(y, two_over_pi[2][column]);
  // Whole turns are dropped; the quadrants of the rest are counted in n.
  const f64 turn0 = p0.high - 4.0 * rint(0.25 * p0.high);
  const f64 n0 = rint(turn0), n1 = rint(p0.low), n2 = rint(p1.high);
  const Pair s1 = exact_sum(turn0 - n0, p0.low - n1);
  const Pair s2 = exact_sum(s1.high, p1.high - n2);
  const f64 n3 = rint(s2.high);
  // The rest in order of size, each sum exact: the fraction may be as small as 2^-62.
  const Pair s3 = exact_sum(s2.high - n3, s1.low);
  const Pair s4 = exact_sum(s3.high, s2.low);
  const Pair s5 = exact_sum(s4.high, p1.low);
  const Pair s6 = exact_sum(s5.high, p2.high);
  const f64 rest = ((s3.low + s4.low) + (s5.low + s6.low)) + mul_add(y, two_over_pi[3][column], p2.low);
  const Pair f = quick_sum(s6.high, rest);
  const Pair r = exact_product(f.high, 0x1.921fb54442d18p+0);
  const f64 tail = mul_add(f.low, 0x1.921fb54442d18p+0, mul_add(f.high, 0x1.1a62633145c07p-54, r.low));
  const f64 shifted = (n0 + n1) + (n2 + n3) + Format<f64>::shifter;
  // Below pi / 4 there is nothing to reduce, and denormal numbers have no exact products.
  return {select(x < 0.785, x, r.high + tail), bits_of(shifted)};
}

#endif

/// sin(r) and cos(r) for |r| <= pi / 4.
TYTO_VECTOR_INLINE f32 sin_series(f32 r) {
  const f32 z = r * r;
  return mul_add(r * z, polynomial(z, -1.666666666e-1f, 8.333331866e-3f, -1.984008212e-4f, 2.72493284e-6f), r);
}
TYTO_VECTOR_INLINE f64 sin_series(f64 r) {
  const f64 z = r * r;
  return mul_add(r * z,
                 polynomial(z, -1.66666666666666646e-1, 8.33333333333092513e-3, -1.98412698367232681e-4,
                            2.75573160842565542e-6, -2.50511280355767777e-8, 1.59178551085133331e-10),
                 r);
}
TYTO_VECTOR_INLINE f32 cos_series(f32 r) {
  const f32 z = r * r;
  return mul_add(z * z, polynomial(z, 4.166666465e-2f, -1.388830075e-3f, 2.454744905e-5f), mul_add(z, -0.5f, 1.0f));
}
TYTO_VECTOR_INLINE f64 cos_series(f64 r) {
  const f64 z = r * r;
  const f64 rest = z * z *
                   polynomial(z, 4.16666666666666654e-2, -1.38888888888873826e-3, 2.48015872987436012e-5,
                              -2.75573172602842168e-7, 2.08761438852735931e-9, -1.13824608967773538e-11);
  // 1 - z / 2 with what its rounding lost.
  const f64 half = 0.5 * z, top = 1.0 - half;
  return top + (((1.0 - top) - half) + rest);
}

/// sin of an angle, of sign 1.
template <class T>
TYTO_VECTOR_INLINE T sin_of(Angle<T> a) {
  const T r = pick(a.quadrant, sin_series(a.r), cos_series(a.r));
  return from_bits(bits_of(r) ^ ((a.quadrant >> 1) << (Format<T>::bits - 1)));
}
template <class T>
TYTO_VECTOR_INLINE T cos_of(Angle<T> a) {
  return sin_of(Angle<T>{a.r, a.quadrant + 1});
}
template <class T>
TYTO_VECTOR_INLINE T tan_of(Angle<T> a) {
  const T s = sin_series(a.r), c = cos_series(a.r);
  const T ratio = pick(a.quadrant, s, c) / pick(a.quadrant, c, s);
  return from_bits(bits_of(ratio) ^ (a.quadrant << (Format<T>::bits - 1)));
}

template <class T>
TYTO_VECTOR_INLINE T sin_near(T x) {
  return multiply_sign(sin_of(reduce_near(abs(x))), x);
}
template <class T>
TYTO_VECTOR_INLINE T cos_near(T x) {
  return cos_of(reduce_near(abs(x)));
}
template <class T>
TYTO_VECTOR_INLINE T tan_near(T x) {
  return multiply_sign(tan_of(reduce_near(abs(x))), x);
}

/// Each element's bits are those of its own form, whatever stands beside it.
#if defined(TYTO_RECORDED_LANES)
#define TYTO_NEAR_OR_FULL(name, near, full) \
  template <class T>                        \
  TYTO_VECTOR_INLINE T name(T x) {          \
    require(abs(x) <= near_limit<T>());     \
    return near;                            \
  }
#else
#define TYTO_NEAR_OR_FULL(name, near, full)               \
  template <class T>                                      \
  TYTO_VECTOR_INLINE T name(T x) {                        \
    return select(abs(x) <= near_limit<T>(), near, full); \
  }
#endif
TYTO_NEAR_OR_FULL(sin, sin_near(x), multiply_sign(sin_of(reduce_full(abs(x))), x))
TYTO_NEAR_OR_FULL(cos, cos_near(x), cos_of(reduce_full(abs(x))))
TYTO_NEAR_OR_FULL(tan, tan_near(x), multiply_sign(tan_of(reduce_full(abs(x))), x))
#undef TYTO_NEAR_OR_FULL

/// (asin(x) - x) / x^3 of z = x^2 <= 1/4.
TYTO_VECTOR_INLINE f32 asin_series(f32 z) {
  return polynomial(z, 1.666666634e-1f, 7.500094761e-2f, 4.459931916e-2f, 3.110172783e-2f, 1.714371682e-2f,
                    3.370072632e-2f);
}
TYTO_VECTOR_INLINE f64 asin_series(f64 z) {
  return polynomial(z, 1.66666666666666678e-1, 7.49999999999842426e-2, 4.46428571463733809e-2, 3.03819441370852143e-2,
                    2.23721730020055974e-2, 1.73523912659092279e-2, 1.39712353011245391e-2, 1.14789526902573867e-2,
                    1.03243182887441121e-2, 5.45087818772054987e-3, 1.74193579648848574e-2, -1.48814093928180669e-2,
                    2.8778442612593041e-2);
}

/// pi / 2 in two parts.
template <class T>
struct HalfPi;
template <>
struct HalfPi<f32> {
  static constexpr f32 high = 0x1.921fb6p+0f, low = -0x1.777a5cp-25f;
};
template <>
struct HalfPi<f64> {
  static constexpr f64 high = 0x1.921fb54442d18p+0, low = 0x1.1a62633145c07p-54;
};

/// asin(|x|) where |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)) = acos(|x|) / 2. Above 1 the root is NaN.
template <class T>
TYTO_VECTOR_INLINE T asin_folded(T a) {
  const mask far = a > T(0.5);
  const T z = select(far, T(0.5) - T(0.5) * a, a * a);
  const T s = select(far, sqrt(z), a);
  return mul_add(s * z, asin_series(z), s);
}

template <class T>
TYTO_VECTOR_INLINE T asin(T x) {
  const T a = abs(x);
  const T p = asin_folded(a);
  const T far = HalfPi<T>::high - (T(2) * p - HalfPi<T>::low);
  return copysign(select(a > T(0.5), far, p), x);
}

template <class T>
TYTO_VECTOR_INLINE T acos(T x) {
  const T a = abs(x);
  const T p = asin_folded(a);
  const T near = HalfPi<T>::high - (multiply_sign(p, x) - HalfPi<T>::low);
  const T below = T(2) * HalfPi<T>::high - (T(2) * p - T(2) * HalfPi<T>::low);
  return select(a > T(0.5), select(x > T(0), T(2) * p, below), near);
}

/// (atan(x) - x) / x^3 of z = x^2 <= tan(pi / 8)^2.
TYTO_VECTOR_INLINE f32 atan_series(f32 z) {
  return polynomial(z, -3.333333175e-1f, 1.999953718e-1f, -1.426384123e-1f, 1.074249652e-1f, -6.44783919e-2f);
}
TYTO_VECTOR_INLINE f64 atan_series(f64 z) {
  return polynomial(z, -3.33333333333333332e-1, 1.99999999999998006e-1, -1.42857142856588462e-1, 1.11111111050598803e-1,
                    -9.09090874875000173e-2, 7.69229623780332317e-2, -6.66642242339860752e-2, 5.87890071357605127e-2,
                    -5.23024615821382819e-2, 4.55064483558646142e-2, -3.45461952247569006e-2, 1.6258779231624823e-2);
}

/// atan(y / x) for y, x >= 0, not both 0 nor both infinite, small enough for their sum.
template <class T>
TYTO_VECTOR_INLINE T atan_ratio(T y, T x) {
  const mask steep = y > x * T(2.414213562373095), diagonal = y > x * T(0.4142135623730950);
  const T top = select(steep, -x, select(diagonal, y - x, y));
  const T bottom = select(steep, y, select(diagonal, y + x, x));
  const T t = top / bottom, z = t * t;
  const T high = select(steep, HalfPi<T>::high, select(diagonal, T(0.5) * HalfPi<T>::high, T(0)));
  const T low = select(steep, HalfPi<T>::low, select(diagonal, T(0.5) * HalfPi<T>::low, T(0)));
  return high + (t + mul_add(t * z, atan_series(z), low));
}

template <class T>
TYTO_VECTOR_INLINE T atan(T x) {
  // Far beyond any change of the result: keeps infinity out of the quotient.
  const T a = abs(x);
  return copysign(atan_ratio(select(a > T(1e30f), T(1e30f), a), T(1)), x);
}

template <class T>
TYTO_VECTOR_INLINE T atan2(T y, T x) {
  constexpr T large = is_single<T> ? T(0x1p100f) : T(0x1p1000), down = is_single<T> ? T(0x1p-24) : T(0x1p-53);
  constexpr T infinity = Format<T>::infinity;
  const T ay = abs(y), ax = abs(x);
  const mask both = ay == infinity && ax == infinity, none = ay == T(0) && ax == T(0);
  const T factor = select(ay > large || ax > large, down, T(1));
  const T top = select(both, T(1), ay * factor), bottom = select(both || none, T(1), ax * factor);
  const T r = atan_ratio(top, bottom);
  const T left = T(2) * HalfPi<T>::high - (r - T(2) * HalfPi<T>::low);
  return copysign(select(copysign(T(1), x) < T(0), left, r), y);
}

}  // namespace tyto::cpu::TYTO_ISA
