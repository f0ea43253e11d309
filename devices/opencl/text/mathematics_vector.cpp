// OpenCL C: branch-free mathematics that compilers vectorise, for processors whose built-in functions they cannot.
//
// The methods, series and tables are those of the CPU device's vector mathematics, which states how they were found and
// how far each result is from the true one.
#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

const char* const vector_f32_section = R"CLC(
static float shifter_f32(void) { return 0x1.8p23f; }
static float power_of_two_f32(float shifted) { return as_float((as_uint(shifted) + 127u) << 23); }
static float ln2_high_f32(void) { return 0x1.62e4p-1f; }
static float ln2_low_f32(void) { return 0x1.7f7d1cp-20f; }
static float lowest_exponent_f32(void) { return -104.0f; }
static float highest_exponent_f32(void) { return 89.5f; }
static float exp_series_f32(float r) {
  return fma(fma(fma(fma(1.392619435e-3f, r, 8.363187671e-3f), r, 4.166655455e-2f), r, 1.666657694e-1f), r, 0.5f);
}
static float sinh_series_f32(float z) {
  return fma(fma(fma(2.806285358e-6f, z, 1.983810133e-4f), z, 8.333339678e-3f), z, 1.666666665e-1f);
}
// x > 0 as 2^exponent times a factor between sqrt(1/2) and sqrt(2); the factor less 1.
static float log_exponent_f32(float x) { return (float)((int)(as_uint(x) - 0x3f3504f3u) >> 23); }
static float log_fraction_f32(float x) {
  return as_float(((as_uint(x) - 0x3f3504f3u) & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}
static float log_rest_f32(float f) {
  const float p = fma(fma(fma(fma(fma(fma(fma(fma(6.971702169e-2f, f, -1.147988164e-1f), f, 1.16854564e-1f), f,
    -1.242567094e-1f), f, 1.424905261e-1f), f, -1.66678028e-1f), f, 2.00007159e-1f), f, -2.499999695e-1f), f,
    3.333333118e-1f);
  const float square = f * f;
  return fma(square * f, p, -0.5f * square);
}
static float log10_high_f32(void) { return 0x1.344p-2f; }
static float log10_low_f32(void) { return 0x1.3509f8p-18f; }
static float smallest_normal_f32(void) { return 0x1p-126f; }
static float lift_f32(void) { return 0x1p23f; }
static float lifted_f32(void) { return 23.0f; }
static float whole_from_f32(void) { return 0x1p25f; }
static float far_hyperbolic_f32(void) { return 0x1p30f; }
static float asin_series_f32(float z) {
  return fma(fma(fma(fma(fma(3.370072632e-2f, z, 1.714371682e-2f), z, 3.110172783e-2f), z, 4.459931916e-2f), z,
    7.500094761e-2f), z, 1.666666634e-1f);
}
static float atan_series_f32(float z) {
  return fma(fma(fma(fma(-6.44783919e-2f, z, 1.074249652e-1f), z, -1.426384123e-1f), z, 1.999953718e-1f), z,
    -3.333333175e-1f);
}
static float half_pi_high_f32(void) { return 0x1.921fb6p+0f; }
static float half_pi_low_f32(void) { return -0x1.777a5cp-25f; }
static float erf_series_f32(float z) {
  return fma(fma(fma(fma(fma(fma(7.875875063e-5f, z, -8.016864287e-4f), z, 5.189087423e-3f), z,
    -2.685421201e-2f), z, 1.128359472e-1f), z, -3.761262667e-1f), z, 1.283791658e-1f);
}
static float sin_series_f32(float r) {
  const float z = r * r;
  return fma(r * z, fma(fma(fma(2.72493284e-6f, z, -1.984008212e-4f), z, 8.333331866e-3f), z, -1.666666666e-1f), r);
}
static float cos_series_f32(float r) {
  const float z = r * r;
  return fma(z * z, fma(fma(2.454744905e-5f, z, -1.388830075e-3f), z, 4.166666465e-2f), fma(z, -0.5f, 1.0f));
}
)CLC";

const char* const vector_f64_section = R"CLC(
static double shifter_f64(void) { return 0x1.8p52; }
static double power_of_two_f64(double shifted) { return as_double((as_ulong(shifted) + 1023ul) << 52); }
static double ln2_high_f64(void) { return 0x1.62e42fefa38p-1; }
static double ln2_low_f64(void) { return 0x1.ef35793c7673p-45; }
static double lowest_exponent_f64(void) { return -746.0; }
static double highest_exponent_f64(void) { return 710.5; }
static double exp_series_f64(double r) {
  return fma(fma(fma(fma(fma(fma(fma(fma(fma(2.51003994254519854e-8, r, 2.76201065595141668e-7), r,
    2.75572684307070998e-6), r, 2.4801521257866648e-5), r, 1.98412698630724699e-4), r, 1.38888889172382326e-3),
    r, 8.33333333333005806e-3), r, 4.16666666666240788e-2), r, 1.66666666666666675e-1), r, 5.00000000000000102e-1);
}
static double sinh_series_f64(double z) {
  return fma(fma(fma(fma(fma(fma(7.74618855614232637e-13, z, 1.60576793498202312e-10), z, 2.5052117698709823e-8),
    z, 2.75573191913687416e-6), z, 1.98412698413242252e-4), z, 8.33333333333329933e-3), z, 1.66666666666666667e-1);
}
static double log_exponent_f64(double x) {
  return as_double(((as_ulong(x) + 0x95f619980c433ul) >> 52) | 0x4330000000000000ul) - (0x1p52 + 1023.0);
}
static double log_fraction_f64(double x) {
  return as_double(((as_ulong(x) + 0x95f619980c433ul) & 0x000ffffffffffffful) + 0x3fe6a09e667f3bcdul) - 1.0;
}
static double log_rest_f64(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  const double p = fma(fma(fma(fma(fma(fma(fma(1.30866824927947131e-1, z, 1.32687677507692731e-1), z,
    1.53862399040025194e-1), z, 1.81817956364339704e-1), z, 2.22222223917485341e-1), z, 2.85714285708034591e-1),
    z, 4.00000000000008772e-1), z, 6.66666666666666665e-1);
  return s * fma(z, p, half_square) - half_square;
}
static double log10_high_f64(void) { return 0x1.34413509f78p-2; }
static double log10_low_f64(void) { return 0x1.fef311f12b358p-46; }
static double smallest_normal_f64(void) { return 0x1p-1022; }
static double lift_f64(void) { return 0x1p54; }
static double lifted_f64(void) { return 54.0; }
static double whole_from_f64(void) { return 0x1p54; }
static double far_hyperbolic_f64(void) { return 0x1p60; }
static double asin_series_f64(double z) {
  return fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(2.8778442612593041e-2, z, -1.48814093928180669e-2), z,
    1.74193579648848574e-2), z, 5.45087818772054987e-3), z, 1.03243182887441121e-2), z, 1.14789526902573867e-2),
    z, 1.39712353011245391e-2), z, 1.73523912659092279e-2), z, 2.23721730020055974e-2), z,
    3.03819441370852143e-2), z, 4.46428571463733809e-2), z, 7.49999999999842426e-2), z, 1.66666666666666678e-1);
}
static double atan_series_f64(double z) {
  return fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(1.6258779231624823e-2, z, -3.45461952247569006e-2), z,
    4.55064483558646142e-2), z, -5.23024615821382819e-2), z, 5.87890071357605127e-2), z,
    -6.66642242339860752e-2), z, 7.69229623780332317e-2), z, -9.09090874875000173e-2), z,
    1.11111111050598803e-1), z, -1.42857142856588462e-1), z, 1.99999999999998006e-1), z, -3.33333333333333332e-1);
}
static double half_pi_high_f64(void) { return 0x1.921fb54442d18p+0; }
static double half_pi_low_f64(void) { return 0x1.1a62633145c07p-54; }
static double erf_series_f64(double z) {
  return fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(5.9571761477489114e-11, z, -1.13728488567916737e-9), z,
    1.46597752740474358e-8), z, -1.6350312701054695e-7), z, 1.6461000484121368e-6), z, -1.49255952668311816e-5),
    z, 1.20553311116427109e-4), z, -8.54832698083378991e-4), z, 5.22397762481801447e-3), z,
    -2.68661706450767932e-2), z, 1.12837916709548787e-1), z, -3.76126389031837481e-1), z, 1.28379167095512574e-1);
}
)CLC";

const char* const vector_real_section = R"CLC(
static real round_near@(real x) { return (x + shifter@()) - shifter@(); }
static real bounded@(real x, real low, real high) {
  const real y = x > high ? high : x;
  return y < low ? low : y;
}
// x times 2^n in two factors, so that results below the normal numbers come out right.
static real scaled@(real x, real n) {
  const real shifted = n * 0.5r + shifter@();
  const real half_n = shifted - shifter@();
  return x * power_of_two@(shifted) * power_of_two@((n - half_n) + shifter@());
}
static real exp_number@(real x) { return round_near@(x * 1.4426950408889634r); }
static real exp_remainder@(real x, real n) { return fma(n, -ln2_low@(), fma(n, -ln2_high@(), x)); }
static real exp_scaled@(real x, real k) {
  const real c = bounded@(x, lowest_exponent@(), highest_exponent@());
  const real n = exp_number@(c);
  const real r = exp_remainder@(c, n);
  return scaled@(fma(r * r, exp_series@(r), r) + 1.0r, n + k);
}
static real exp@(real x) { return exp_scaled@(x, 0.0r); }
static real exp2@(real x) {
  const real c = bounded@(x, lowest_exponent@() * 1.4427r - 1.0r, highest_exponent@() * 1.4427r);
  const real n = round_near@(c);
  const real r = (c - n) * 0.6931471805599453r;
  return scaled@(fma(r * r, exp_series@(r), r) + 1.0r, n);
}
static real expm1@(real x) {
  const real c = bounded@(x, -40.0r, highest_exponent@() - 0.5r);
  const real n = exp_number@(c);
  const real r = exp_remainder@(c, n);
  const real p = fma(r * r, exp_series@(r), r);
  const real half_power = power_of_two@((n - 1.0r) + shifter@());
  const real far = 2.0r * fma(half_power, p, half_power - 0.5r);
  return n == 0 ? (x == 0 ? x : p) : far;
}
static real sigmoid@(real x) {
  const real e = exp@(-fabs(x));
  return (x < 0 ? e : 1.0r) / (1.0r + e);
}
static real tanh@(real x) {
  const real t = expm1@(-2.0r * fabs(x));
  return copysign(t / (2.0r + t), x);
}
static real cosh@(real x) {
  const real e = exp_scaled@(fabs(x), -1.0r);
  return e + 0.25r / e;
}
static real sinh@(real x) {
  const real a = fabs(x);
  const real e = exp_scaled@(a, -1.0r);
  const real near = fma(a * (a * a), sinh_series@(a * a), a);
  return copysign(a < 1 ? near : e - 0.25r / e, x);
}
static real log_of_parts@(real exponent, real fraction) {
  const real rest = fma(exponent, ln2_low@(), log_rest@(fraction));
  return fma(exponent, ln2_high@(), fraction + rest);
}
static real log_ends@(real x, real result) {
  return x > 0 ? (x < INFINITY ? result : x) : x == 0 ? -INFINITY : NAN;
}
static real lift_small@(real x) { return x < smallest_normal@() ? x * lift@() : x; }
static real lift_back@(real x) { return x < smallest_normal@() ? lifted@() : 0.0r; }
static real log@(real x) {
  const real y = lift_small@(x);
  return log_ends@(x, log_of_parts@(log_exponent@(y) - lift_back@(x), log_fraction@(y)));
}
static real log2@(real x) {
  const real y = lift_small@(x);
  const real f = log_fraction@(y);
  return log_ends@(x, fma(f + log_rest@(f), 1.4426950408889634r, log_exponent@(y) - lift_back@(x)));
}
static real log10@(real x) {
  const real y = lift_small@(x);
  const real f = log_fraction@(y);
  const real n = log_exponent@(y) - lift_back@(x);
  return log_ends@(x, fma(n, log10_high@(), fma(f + log_rest@(f), 0.4342944819032518r, n * log10_low@())));
}
// u + lost is 1 + x exactly; what the sum lost goes into the fraction, scaled as the fraction is.
static real log1p@(real x) {
  const real u = 1.0r + x;
  const real t = u - 1.0r;
  const real lost = (1.0r - (u - t)) + (x - t);
  const real n = log_exponent@(u);
  const real extra = u < whole_from@() ? lost * power_of_two@(shifter@() - n) : 0.0r;
  return x == 0 ? x : log_ends@(u, log_of_parts@(n, log_fraction@(u) + extra));
}
static real softplus@(real x) {
  const real e = exp@(-fabs(x));
  const real u = 1.0r + e;
  const real lost = e - (u - 1.0r);
  const real n = log_exponent@(u);
  const real f = fma(lost, power_of_two@(shifter@() - n), log_fraction@(u));
  return (x < 0 ? 0.0r : x) + log_of_parts@(n, f);
}
static real asinh@(real x) {
  const real a = fabs(x);
  const int far = a > far_hyperbolic@();
  const real z = a * a;
  const real near = a + z / (1.0r + sqrt(1.0r + z));
  return copysign(log1p@(far ? a : near) + (far ? 0.6931471805599453r : 0.0r), x);
}
static real acosh@(real x) {
  const real t = x - 1.0r;
  const int far = t > far_hyperbolic@();
  const real near = t + sqrt(fma(t, t, 2.0r * t));
  const real result = log1p@(far ? t : near) + (far ? 0.6931471805599453r : 0.0r);
  return x < 1 ? NAN : result;
}
static real atanh@(real x) {
  const real a = fabs(x);
  return copysign(0.5r * log1p@(2.0r * a / (1.0r - a)), x);
}
// asin(a) for a up to 1/2, else acos(a) / 2.
static real asin_folded@(real a) {
  const real z = a > 0.5r ? 0.5r - 0.5r * a : a * a;
  const real s = a > 0.5r ? sqrt(z) : a;
  return fma(s * z, asin_series@(z), s);
}
static real asin@(real x) {
  const real a = fabs(x);
  const real p = asin_folded@(a);
  return copysign(a > 0.5r ? half_pi_high@() - (2.0r * p - half_pi_low@()) : p, x);
}
static real acos@(real x) {
  const real a = fabs(x);
  const real p = asin_folded@(a);
  const real near = half_pi_high@() - (copysign(p, x) - half_pi_low@());
  const real below = 2.0r * half_pi_high@() - (2.0r * p - 2.0r * half_pi_low@());
  return a > 0.5r ? (x > 0 ? 2.0r * p : below) : near;
}
// The angle of the point (x, y) of the first quadrant, by where it lies between the axes.
static real atan_ratio@(real y, real x) {
  const int steep = y > x * 2.414213562373095r;
  const int diagonal = y > x * 0.414213562373095r;
  const real top = steep ? -x : diagonal ? y - x : y;
  const real bottom = steep ? y : diagonal ? y + x : x;
  const real t = top / bottom;
  const real part = steep ? 1.0r : diagonal ? 0.5r : 0.0r;
  return part * half_pi_high@() + (t + fma(t * (t * t), atan_series@(t * t), part * half_pi_low@()));
}
static real atan@(real x) {
  const real a = fabs(x);
  return copysign(atan_ratio@(a > 1.0e30r ? 1.0e30r : a, 1.0r), x);
}
)CLC";

}  // namespace tyto::opencl
