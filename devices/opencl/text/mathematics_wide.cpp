// OpenCL C: vector mathematics that works in f64, for f32 where its own precision does not do, and for f64 itself.
#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

const char* const vector_wide_section = R"CLC(
static double log2_wide(double x) {
  const double f = log_fraction_f64(x);
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double p = fma(fma(fma(fma(1.9362702963383444e-1, z, 2.21913982955226945e-1), z, 2.85717545758395364e-1),
    z, 3.9999998797142038e-1), z, 6.66666666673752336e-1);
  return fma(fma(s * z, p, 2.0 * s), 1.4426950408889634, log_exponent_f64(x));
}
static double exp2_wide(double x) {
  const double shifted = x + shifter_f64();
  const double r = (x - (shifted - shifter_f64())) * 0.6931471805599453;
  const double p = fma(fma(fma(fma(fma(1.98910051755224758e-4, r, 1.39336629191264927e-3), r,
    8.33331091254967457e-3), r, 4.16664648088436661e-2), r, 1.66666666816361769e-1), r, 5.00000001347746583e-1);
  return (fma(r * r, p, r) + 1.0) * power_of_two_f64(shifted);
}
// |x|^y with the sign of an odd power, NaN for a broken power of a negative number, and 1 where pow is 1 even of NaN.
static float pow_f32(float x, float y) {
  const double a = fabs((double)x);
  const double inside = log2_wide(a);
  const double l = a == 0 ? -INFINITY : a < INFINITY ? inside : a;
  const float size = (float)exp2_wide(bounded_f64((double)y * l, -300.0, 300.0));
  const int integral = rint(y) == y;
  const int odd = integral & (rint(y * 0.5f) != y * 0.5f);
  const float signed_size = ((as_int(x) < 0) & odd) ? -size : size;
  const float power = ((x < 0) & (x > -INFINITY) & !integral) ? NAN : signed_size;
  return ((y == 0) | (x == 1) | ((x == -1) & (fabs(y) == INFINITY))) ? 1.0f : power;
}
static float cbrt_f32(float x) {
  const double a = fabs((double)x);
  const double third = fma(as_double((as_ulong(a) >> 32) | 0x4330000000000000ul) - 0x1p52, 1.0 / 3.0,
    (682.0 - 0.0330623) * 0x1p20);
  double t = as_double(as_ulong(third + 0x1p52) << 32);
  for (int step = 0; step < 2; ++step) {
    const double cube = t * t * t;
    t *= (cube + 2.0 * a) / (2.0 * cube + a);
  }
  return copysign(((a > 0) & (a < INFINITY)) ? (float)t : (float)a, x);
}
static float hypot_f32(float x, float y) {
  const double a = x;
  const double b = y;
  return ((fabs(x) == INFINITY) | (fabs(y) == INFINITY)) ? INFINITY : (float)sqrt(a * a + b * b);
}
static float erf_f32(float x) {
  const float a = fabs(x);
  const float near = fma(a, erf_series_f32(a * a), a);
  const float c = a > 3.95f ? 3.95f : a;
  const float q = fma(fma(fma(fma(fma(fma(fma(fma(2.403075102e-7f, c, -3.694529267e-6f), c, 5.356946446e-6f), c,
    3.143998136e-4f), c, -3.787436177e-3f), c, 2.424934041e-2f), c, -1.069358841e-1f), c, -6.346672424e-1f), c,
    -1.128780617f);
  return copysign(a < 1 ? near : 1.0f - exp_f32(c * q), x);
}
static float erfc_f32(float x) {
  const double a = fabs(x) > 10.5f ? 10.5 : fabs((double)x);
  const double t = (a - 4.0) / (a + 4.0);
  const double h = fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(7.97902023663797335e-4, t, 6.76596404179122123e-3), t,
    -1.61310509534516249e-2), t, 3.64006606459277366e-2), t, -6.65623095535745204e-2), t,
    9.38438022699636977e-2), t, -1.00997036322868216e-1), t, 6.80907451711837566e-2), t, 1.53775144342492444e-2),
    t, -1.3962099842665754e-1), t, 1.23299513463346844);
  const double tail = exp2_wide(a * a * -1.4426950408889634) * h / (1.0 + 2.0 * a);
  return (float)(x < 0 ? 2.0 - tail : tail);
}
// (1 + 2a) e^(a^2) erfc(a), smooth and between 1 and 1.3, of t = (a - 4) / (a + 4).
static double erfc_tail_f64(double x) {
  const double a = x > 28.0 ? 28.0 : x;
  const double t = (a - 4.0) / (a + 4.0);
  const double p =
    fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(1.2510655735160387e-9,
    t, 1.8282351539492505e-9), t, -1.40980353659567166e-8), t, -1.78992875346536243e-8), t,
    1.10135705509074045e-7), t, 7.46195810011648657e-8), t, -8.25585852565050943e-7), t, 2.93827122543766296e-7),
    t, 5.70987192037412618e-6), t, -1.12220557458209019e-5), t, -2.43992829144058947e-5), t,
    1.50621695601372184e-4), t, -1.99256673664383844e-4), t, -7.57773296197955729e-4), t, 5.03196997391465499e-3),
    t, -1.61977340562509891e-2), t, 3.71675155379617036e-2), t, -6.63303658123827061e-2), t,
    9.37328349983191568e-2), t, -1.01039066036294895e-1), t, 6.8097054254693533e-2), t, 1.53796521026195814e-2),
    t, -1.3962111684056252e-1), t, 1.23299511862555251);
  const double square = a * a;
  const double lost = fma(a, a, -square);
  const double h = p / fma(2.0, a, 1.0);
  return exp_f64(-square) * fma(h, -lost, h);
}
static double erf_f64(double x) {
  const double a = fabs(x);
  return copysign(a < 1 ? fma(a, erf_series_f64(a * a), a) : 1.0 - erfc_tail_f64(a), x);
}
static double erfc_f64(double x) {
  const double tail = erfc_tail_f64(fabs(x));
  const double near = 1.0 - fma(x, erf_series_f64(x * x), x);
  return fabs(x) < 0.5 ? near : x < 0 ? 2.0 - tail : tail;
}
// x over pi / 2 as whole quadrants (modulo 4) and a rest, for every float x >= 0: from 2^32 on, x is a power 2^k times
// an integer below 2^47, which is multiplied by 2^k 2/pi modulo 4 in parts whose products are exact.
static float angle_f32(float x, uint* quadrant) {
  const double a = x;
  const int b32 = a >= 0x1p32;
  const int b56 = a >= 0x1p56;
  const int b80 = a >= 0x1p80;
  const int b104 = a >= 0x1p104;
  const double y = a * (b104 ? 0x1p-81 : b80 ? 0x1p-57 : b56 ? 0x1p-33 : b32 ? 0x1p-9 : 1.0);
  const double high = b104 ? 0x1.57d1f53p+1 : b80 ? 0x1.29fc275p+1 : b56 ? 0x1.3910548p-1
                    : b32 ? 0x1.f306dc8p+0 : 0x1.45f306dp-1;
  const double middle = b104 ? 0x1.377036dp-29 : b80 ? 0x1.f47d4d3p-29 : b56 ? 0x1.3f84eafp-28
                      : b32 ? 0x1.c882a53p-28 : 0x1.9391054p-30;
  const double low = b104 ? 0x1.14acc9e21c821p-58 : b80 ? 0x1.dc0db6295993cp-59 : b56 ? 0x1.47d4d377036d9p-57
                   : b32 ? 0x1.f09d5f47d4d37p-57 : 0x1.4fe13abe8fa9ap-59;
  const double p0 = y * high;
  const double n0 = rint(p0);
  const double p1 = y * middle;
  const double n1 = rint(p1);
  const double f = (p0 - n0) + (p1 - n1);
  const double n2 = rint(f);
  *quadrant = (uint)as_ulong((n0 + n1) + (n2 + shifter_f64()));
  return (float)(fma(y, low, f - n2) * 1.5707963267948966);
}
static float sin_of_f32(float r, uint quadrant) {
  const float s = sin_series_f32(r);
  const float c = cos_series_f32(r);
  return as_float(as_uint((quadrant & 1) ? c : s) ^ (quadrant >> 1 << 31));
}
static float sin_f32(float x) {
  uint quadrant;
  const float r = angle_f32(fabs(x), &quadrant);
  return as_float(as_uint(sin_of_f32(r, quadrant)) ^ (as_uint(x) & 0x80000000u));
}
static float cos_f32(float x) {
  uint quadrant;
  const float r = angle_f32(fabs(x), &quadrant);
  return sin_of_f32(r, quadrant + 1);
}
static float tan_f32(float x) {
  uint quadrant;
  const float r = angle_f32(fabs(x), &quadrant);
  const float s = sin_series_f32(r);
  const float c = cos_series_f32(r);
  const float ratio = ((quadrant & 1) ? c : s) / ((quadrant & 1) ? s : c);
  return as_float(as_uint(ratio) ^ (quadrant << 31) ^ (as_uint(x) & 0x80000000u));
}
)CLC";

}  // namespace tyto::opencl
