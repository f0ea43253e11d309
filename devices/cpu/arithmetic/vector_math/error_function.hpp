// SPDX-License-Identifier: MIT
// erf, erfc, erfinv and Dawson's integral.
#pragma once

#include "devices/cpu/arithmetic/vector_math/power.hpp"

namespace tyto::cpu::TYTO_ISA {

/// erf(x) / x - 1 of z = x^2 <= 1.
TYTO_VECTOR_INLINE f32 erf_series(f32 z) {
  return polynomial(z, 1.283791658e-1f, -3.761262667e-1f, 1.128359472e-1f, -2.685421201e-2f, 5.189087423e-3f,
                    -8.016864287e-4f, 7.875875063e-5f);
}
TYTO_VECTOR_INLINE f64 erf_series(f64 z) {
  return polynomial(z, 1.28379167095512574e-1, -3.76126389031837481e-1, 1.12837916709548787e-1, -2.68661706450767932e-2,
                    5.22397762481801447e-3, -8.54832698083378991e-4, 1.20553311116427109e-4, -1.49255952668311816e-5,
                    1.6461000484121368e-6, -1.6350312701054695e-7, 1.46597752740474358e-8, -1.13728488567916737e-9,
                    5.9571761477489114e-11);
}

/// (1 + 2a) e^(a^2) erfc(a), smooth and between 1 and 1.3, of t = (a - 4) / (a + 4) for a >= 0.
TYTO_VECTOR_INLINE f64 scaled_erfc_series(f64 t) {
  return polynomial(t, 1.23299511862555251, -1.3962111684056252e-1, 1.53796521026195814e-2, 6.8097054254693533e-2,
                    -1.01039066036295894e-1, 9.37328349983191568e-2, -6.63303658123827061e-2, 3.71675155379617036e-2,
                    -1.61977340562509891e-2, 5.03196997391465499e-3, -7.57773296197955729e-4, -1.99256673664383844e-4,
                    1.50621695601372184e-4, -2.43992829144058947e-5, -1.12220557458209019e-5, 5.70987192037412618e-6,
                    2.93827122543766296e-7, -8.25585852565050943e-7, 7.46195810011648657e-8, 1.10135705509074045e-7,
                    -1.78992875346536243e-8, -1.40980353659567166e-8, 1.8282351539492505e-9, 1.2510655735160387e-9);
}

/// erfc(a) for a >= 0; 0 beyond 28.
TYTO_VECTOR_INLINE f64 erfc_tail(f64 x) {
  const f64 a = select(x > 28.0, 28.0, x);
  const Pair square = exact_product(a, a);
  const f64 h = scaled_erfc_series((a - 4.0) / (a + 4.0)) / mul_add(2.0, a, 1.0);
  return exp(-square.high) * mul_add(h, -square.low, h);
}

TYTO_VECTOR_INLINE f32 erf(f32 x) {
  const f32 a = abs(x);
  const f32 near = mul_add(a, erf_series(a * a), a);
  // 1 - e^(a q(a)); from 3.95 on the answer is 1.
  const f32 c = select(a > 3.95f, 3.95f, a);
  const f32 q = polynomial(c, -1.128780617f, -6.346672424e-1f, -1.069358841e-1f, 2.424934041e-2f, -3.787436177e-3f,
                           3.143998136e-4f, 5.356946446e-6f, -3.694529267e-6f, 2.403075102e-7f);
  const ExpArgument<f32> e = split_exponent(c * q);
  const f32 p = mul_add(e.r * e.r, exp_series(e.r), e.r) + 1.0f;
  const f32 far = mul_add(p, -power_of_two_shifted(e.n + Format<f32>::shifter), 1.0f);
  return copysign(select(a < 1.0f, near, far), x);
}

TYTO_VECTOR_INLINE f64 erf(f64 x) {
  const f64 a = abs(x);
  const f64 near = mul_add(a, erf_series(a * a), a);
  return copysign(select(a < 1.0, near, 1.0 - erfc_tail(a)), x);
}

TYTO_VECTOR_INLINE f32 erfc(f32 x) {
  const f64 a = select(abs(x) > 10.5f, 10.5, static_cast<f64>(abs(x)));
  const f64 h =
      polynomial((a - 4.0) / (a + 4.0), 1.23299513463346844, -1.3962099842665754e-1, 1.53775144342492444e-2,
                 6.80907451711837566e-2, -1.00997036322868216e-1, 9.38438022699636977e-2, -6.65623095535745204e-2,
                 3.64006606459277366e-2, -1.61310509534516249e-2, 6.76596404179122123e-3, 7.97902023663797335e-4);
  const f64 tail = exp2_wide(a * a * -0x1.71547652b82fep+0) * h / (1.0 + 2.0 * a);
  return static_cast<f32>(select(x < 0.0f, 2.0 - tail, tail));
}

TYTO_VECTOR_INLINE f64 erfc(f64 x) {
  const f64 a = abs(x), tail = erfc_tail(a);
  const f64 near = 1.0 - mul_add(x, erf_series(x * x), x);
  return select(a < 0.5, near, select(x < 0.0, 2.0 - tail, tail));
}

/// A step of Halley towards erf(y) = a; above 1/2 on erfc, whose target 1 - a is exact there.
TYTO_VECTOR_INLINE f64 erfinv_step(f64 y, f64 a) {
  const f64 miss = select(a < 0.5, erf(y) - a, (1.0 - a) - erfc_tail(y));
  const f64 u = miss * 0.886226925452758014 * exp(y * y);
  return y - u / mul_add(y, u, 1.0);
}

TYTO_VECTOR_INLINE f64 erfinv(f64 x) {
  const f64 a = abs(x);
  // Winitzki's closed form is right to 0.4 %; near 0, where it cancels, the series.
  const f64 l = log((1.0 - a) * (1.0 + a));
  const f64 b = mul_add(l, 0.5, 2.0 / (3.14159265358979324 * 0.147));
  const f64 closed = sqrt(sqrt(mul_add(b, b, -l / 0.147)) - b);
  const f64 z = a * a;
  const f64 series = a * polynomial(z, 0.886226925452758014, 0.232013666534654493, 0.127556175305597958);
  const f64 y = erfinv_step(erfinv_step(select(a < 0.5, series, closed), a), a);
  const f64 ends = select(a == 1.0, Format<f64>::infinity, select(a == 0.0, 0.0, y));
  return copysign(select(a <= 1.0, ends, Format<f64>::nan + a), x);
}
TYTO_VECTOR_INLINE f32 erfinv(f32 x) { return static_cast<f32>(erfinv(static_cast<f64>(x))); }

#if defined(TYTO_RECORDED_LANES)
template <class T>
TYTO_VECTOR_INLINE T dawsn(T x) {
  return unrecordable(x);
}
#else
/// Dawson's integral: F(x) / x of x^2 in column 0, F(x) of the distance from the middle of
/// [k, k + 1] in columns 1 to 4, 2x F(x) of 1 / x^2 in column 5; lowest power first.
static constexpr f64 dawson_columns[19][6] = {
    {1.0, 4.28249071085398625e-1, 2.23083722167435481e-1, 1.49621593080756485e-1, 1.1408861022682498e-1,
     9.99999999999999996e-1},
    {-6.66666666666666667e-1, -2.84747213256195813e-1, -1.15418610837177398e-1, -4.73511515652953932e-2,
     -2.67974920414248215e-2, 5.00000000000032964e-1},
    {2.66666666666666667e-1, -1.12825120110481172e-3, 6.54628049255080335e-2, 1.61074373977773918e-2,
     6.50010395958671634e-3, 7.49999999921437953e-1},
    {-7.61904761904761905e-2, 1.90959726705220222e-1, -3.21589343177302695e-2, -6.01658621795033463e-3,
     -1.63531718447693227e-3, 1.87500008044409541},
    {1.69312169312169312e-2, -1.42655669428373924e-1, 7.46726543440641801e-3, 2.47530718252433381e-3,
     4.29411685279744293e-4, 6.56245607079976188},
    {-3.07840307840307839e-3, 9.20951097599949297e-3, 5.39630829281298531e-3, -1.05879556835283131e-3,
     -1.18814159712938587e-4, 2.95456163827855849e+1},
    {4.73600473600473478e-4, 4.29471343219774167e-2, -6.9860120553637942e-3, 4.10159102240131617e-4,
     3.50840111426140718e-5, 1.59421609610693335e+2},
    {-6.31467298133956036e-5, -2.10372035936736397e-2, 3.44820623753335451e-3, -1.07646082745609628e-4,
     -1.11611115455945715e-5, 1.46690204135869426e+3},
    {7.42902703686560463e-6, -2.84783224521664397e-3, -4.08625887472230823e-4, -8.34945325178717296e-6,
     3.78524770787818378e-6, -2.84005989152485295e+4},
    {-7.82002845968535621e-7, 5.6242121350060969e-3, -5.39253600499476501e-4, 3.04153715152700006e-5,
     -1.3050007930714946e-6, 1.86321807395391152e+6},
    {7.44764614698336915e-8, -1.11769702170465908e-3, 3.51352018374869689e-4, -1.96208678879945945e-5,
     4.17451111465992662e-7, -2.60902033533387566e+6},
    {-6.47621392578538303e-9, -7.17763544143133339e-4, -6.1660069076328456e-5, 6.95593325145475426e-6,
     -1.04277067127207755e-7, -6.93318327052693661e+9},
    {5.18096914152727267e-10, 3.65722295127049906e-4, -3.28673279198950404e-5, -7.87497837775774826e-7,
     8.63308815866459749e-9, 5.88862040048650285e+11},
    {-3.83772825033568082e-11, 2.60644714459958625e-5, 2.21318413358183067e-5, -6.46069402093506291e-7,
     1.00598972399966043e-8, -2.78306721342116288e+13},
    {2.64643846291378381e-12, -5.782381930034026e-5, -3.20698406380810781e-6, 4.35621929021218934e-7,
     -7.70264813571074078e-9, 8.58592488283322047e+14},
    {-1.7053280441074585e-13, 7.95516938327294452e-6, -1.89798052395660562e-6, -1.17281618680766299e-7,
     3.30212452976553789e-9, -1.76612346379318186e+16},
    {1.02229061763431753e-14, 5.71269449187960211e-6, 9.8772110685545863e-7, -3.45321563731736599e-9,
     -8.88050936280462355e-10, 2.34043974931846685e+17},
    {-5.42118040670203372e-16, -1.67556953576317929e-6, -3.51183669374270268e-8, 1.54861148631942649e-8,
     3.79428985126830782e-11, -1.80634438291869261e+18},
    {1.96997284675224508e-17, -3.13729707706956813e-7, -8.85744264345757312e-8, -5.03023158371469507e-9,
     6.92957213845415003e-11, 6.15657854570089004e+18}};

TYTO_VECTOR_INLINE f64 dawsn(f64 x) {
  const f64 a = abs(x);
  // The integer in the low bits; SSE2 and AVX2 do not convert doubles to 64-bit integers.
  const f64 whole = select(a < 5.0, trunc(a), 5.0);
  const u64 k = bits_of(whole + 0x1p52) & 7u;
  const f64 inverse = 1.0 / select(a < 1.0, 1.0, a);
  const f64 u = select(a < 1.0, a * a, select(a < 5.0, (a - 0.5) - whole, inverse * inverse));
  const f64 p = polynomial(u, dawson_columns[0][k], dawson_columns[1][k], dawson_columns[2][k], dawson_columns[3][k],
                           dawson_columns[4][k], dawson_columns[5][k], dawson_columns[6][k], dawson_columns[7][k],
                           dawson_columns[8][k], dawson_columns[9][k], dawson_columns[10][k], dawson_columns[11][k],
                           dawson_columns[12][k], dawson_columns[13][k], dawson_columns[14][k], dawson_columns[15][k],
                           dawson_columns[16][k], dawson_columns[17][k], dawson_columns[18][k]);
  return copysign(select(a < 1.0, a * p, select(a < 5.0, p, 0.5 * inverse * p)), x);
}
TYTO_VECTOR_INLINE f32 dawsn(f32 x) { return static_cast<f32>(dawsn(static_cast<f64>(x))); }
#endif

}  // namespace tyto::cpu::TYTO_ISA
