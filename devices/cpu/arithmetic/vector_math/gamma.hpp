// SPDX-License-Identifier: MIT
// lgamma, without branches above 0; digamma by intervals with branches, one element at a time.
#pragma once

#include "devices/cpu/arithmetic/vector_math/logarithm.hpp"
#include "devices/cpu/arithmetic/vector_math/trigonometric.hpp"

namespace tyto::cpu::TYTO_ISA {

/// log(Gamma(2 + z)) for |z| <= 1/2; its zeros at z = 0 and z = -1 are factors, so that results near them keep their
/// relative error.
TYTO_VECTOR_INLINE f64 lgamma_around_two(f64 z) {
  const f64 g =
      polynomial(z, 4.22784335098467143e-1, -1.00317301674353923e-1, 3.296500062115359e-2, -1.23841921933702107e-2,
                 4.99864116493537551e-3, -2.10813083406944381e-3, 9.15376912508690226e-4, -4.05707392856877755e-4,
                 1.82552838392318037e-4, -8.30952214582670177e-5, 3.81666059186287716e-5, -1.76605863194616239e-5,
                 8.2374767499316994e-6, -3.85462173437806306e-6, 1.74905383200343935e-6, -8.24769780825707525e-7,
                 5.23657065748641662e-7, -2.48901986858291499e-7);
  return z * (1.0 + z) * g;
}

/// Above 0, and of NaN: by recurrence around two, or Stirling's series from 8 on, with one logarithm for both.
TYTO_VECTOR_INLINE f64 lgamma_positive(f64 x) {
  const mask far = x >= 8.0, tiny = x < 0.5, small = x < 1.5;
  f64 lowered = select(far, f64(2.0), x), product = 1.0;
  for (int step = 0; step < 6; ++step) {
    const mask more = lowered > 2.5;
    const f64 next = lowered - 1.0;
    product = select(more, product * next, product);
    lowered = select(more, next, lowered);
  }
  const f64 raised = select(tiny, x * (1.0 + x), x);
  const f64 l = log(select(far || small, raised, product));
  const f64 g = lgamma_around_two(select(tiny, x, select(small, x - 1.0, lowered - 2.0)));
  const f64 inverse = 1.0 / select(far, x, f64(8.0)), z = inverse * inverse;
  const f64 series = inverse * polynomial(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360,
                                          1.0 / 156, -3617.0 / 122400);
  const f64 stirling = (x - 0.5) * (l - 1.0) + (0.418938533204672742 + series);
  return select(far, stirling, select(small, g - l, l + g));
}
TYTO_VECTOR_INLINE f32 lgamma_positive(f32 x) { return static_cast<f32>(lgamma_positive(static_cast<f64>(x))); }

#if defined(TYTO_RECORDED_LANES)
template <class T>
TYTO_VECTOR_INLINE T lgamma(T x) {
  require(!(x <= T(0)));
  return lgamma_positive(x);
}
template <class T>
TYTO_VECTOR_INLINE T digamma(T x) {
  return unrecordable(x);
}
#else
/// log |Gamma(x)|. Below 0 the error is relative to the larger of the result and 1: the function has a zero between any
/// two poles.
static inline f64 lgamma(f64 x) {
  if (!(x <= 0.0)) return lgamma_positive(x);
  if (x == floor(x)) return Format<f64>::infinity;
  if (x > -1e-17) return -log(-x);
  const f64 r = x - rint(x);
  return 1.14472988584940017 - log(abs(x * sin_near(r * 3.14159265358979324))) - lgamma_positive(-x);
}
static inline f32 lgamma(f32 x) { return static_cast<f32>(lgamma(static_cast<f64>(x))); }

static inline f64 digamma_positive(f64 x) {
  f64 sum = 0.0;
  if (x < 1.0) {
    sum = -1.0 / x;
    x += 1.0;
  }
  if (x < 10.0) {
    while (x > 2.0) sum += 1.0 / (x -= 1.0);
    const f64 g =
        polynomial(x - 1.5, 9.51055876031832893e-1, -4.23627421281460505e-1, 2.40542484240774218e-1,
                   -1.48404923053908861e-1, 9.49887244549412394e-2, -6.19221332730641687e-2, 4.07608338124192822e-2,
                   -2.69757967561535113e-2, 1.79072524394920366e-2, -1.19082180012171297e-2, 7.92694464574858638e-3,
                   -5.27996487810917257e-3, 3.51900640787130146e-3, -2.34526759068135365e-3, 1.55663170929249041e-3,
                   -1.03763763732512407e-3, 7.23326765554585144e-4, -4.82198296780602713e-4, 2.27232892175925947e-4,
                   -1.51487272699784552e-4, 2.59685052293627875e-4, -1.73121502491542119e-4);
    // The root 1.4616... as two parts, so that results near it keep their relative error.
    return sum + ((x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54) * g;
  }
  const f64 inverse = 1.0 / x, z = inverse * inverse;
  const f64 series =
      z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  return log(x) - (0.5 * inverse + series);
}

/// The derivative of log(Gamma(x)): -inf at 0, +inf at -0, NaN at the poles below.
static inline f64 digamma(f64 x) {
  if (x == 0.0) return -copysign(Format<f64>::infinity, x);
  if (!(x < 0.0)) return digamma_positive(x);
  const f64 r = x - rint(x);
  if (!(r != 0.0)) return Format<f64>::nan;
  return digamma_positive(1.0 - x) - 3.14159265358979324 / tan_near(r * 3.14159265358979324);
}
static inline f32 digamma(f32 x) { return static_cast<f32>(digamma(static_cast<f64>(x))); }
#endif

}  // namespace tyto::cpu::TYTO_ISA
