// SPDX-License-Identifier: MIT
// OpenCL C: functions of real numbers, for f32 and f64.
#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

// The driver's own functions.
const char* const builtin_section = R"CLC(
static real exp@(real x) { return exp(x); }
static real exp2@(real x) { return exp2(x); }
static real expm1@(real x) { return expm1(x); }
static real log@(real x) { return log(x); }
static real log2@(real x) { return log2(x); }
static real log10@(real x) { return log10(x); }
static real log1p@(real x) { return log1p(x); }
static real asin@(real x) { return asin(x); }
static real acos@(real x) { return acos(x); }
static real atan@(real x) { return atan(x); }
static real sinh@(real x) { return sinh(x); }
static real cosh@(real x) { return cosh(x); }
static real tanh@(real x) { return tanh(x); }
static real asinh@(real x) { return asinh(x); }
static real acosh@(real x) { return acosh(x); }
static real atanh@(real x) { return atanh(x); }
static real pow@(real a, real b) { return pow(a, b); }
static real cbrt@(real x) { return cbrt(x); }
static real hypot@(real a, real b) { return hypot(a, b); }
static real erf@(real x) { return erf(x); }
static real erfc@(real x) { return erfc(x); }
static real sin@(real x) { return sin(x); }
static real cos@(real x) { return cos(x); }
static real tan@(real x) { return tan(x); }
static real sigmoid@(real x) {
  const real e = exp@(-fabs(x));
  return (x >= 0 ? 1.0r : e) / (1.0r + e);
}
static real softplus@(real x) { return (x > 0 ? x : 0.0r) + log1p@(exp@(-fabs(x))) + (x != x ? x : 0.0r); }
)CLC";

const char* const real_section = R"CLC(
static real sel@(int c, real a, real b) { return c ? a : b; }
static real abs@(real x) { return fabs(x); }
static real sign@(real x) { return x > 0 ? 1.0r : x < 0 ? -1.0r : x == 0 ? 0.0r : x; }
static real maximum@(real a, real b) { return ((a >= b) | (a != a)) ? a : b; }
static real minimum@(real a, real b) { return ((a <= b) | (a != a)) ? a : b; }
static real fmax@(real a, real b) { return ((a >= b) | (b != b)) ? a : b; }
static real fmin@(real a, real b) { return ((a <= b) | (b != b)) ? a : b; }
static int is_infinite@(real x) { return fabs(x) == INFINITY; }
static int is_finite@(real x) { return fabs(x) < INFINITY; }
static real mul_add@(real a, real b, real c) { return a * b + c; }
static real floor@(real x) { return floor(x); }
static real ceil@(real x) { return ceil(x); }
static real trunc@(real x) { return trunc(x); }
static real round_even@(real x) { return rint(x); }
static real copysign@(real a, real b) { return copysign(a, b); }
static real frexp_mantissa@(real x) {
  int exponent;
  const real mantissa = frexp(x, &exponent);
  return fabs(x) < INFINITY ? mantissa : x;
}
static real frexp_exponent@(real x) {
  int exponent;
  frexp(x, &exponent);
  return ((x == 0) | !(fabs(x) < INFINITY)) ? 0.0r : (real)exponent;
}
static real ldexp@(real a, real b) {
  const real n = b != b ? 0.0r : b < -4000.0r ? -4000.0r : b > 4000.0r ? 4000.0r : b;
  return b != b ? b : ldexp(a, (int)n);
}
static real sqrt@(real x) { return sqrt(x); }
static real rsqrt@(real x) { return 1.0r / sqrt(x); }
static real exp10@(real x) { return exp10(x); }
static real atan2@(real a, real b) { return atan2(a, b); }
static real fmod@(real a, real b) { return fmod(a, b); }

// The quotient and rest of NumPy: the rest has the sign of b, the quotient is whole.
static real remainder@(real a, real b) {
  const real m = fmod(a, b);
  return m == 0 ? copysign(0.0r, b) : ((m < 0) != (b < 0)) ? m + b : m;
}
static real floor_divide@(real a, real b) {
  const real m = fmod(a, b);
  const real whole_part = (a - m) / b - (((m != 0) & ((m < 0) != (b < 0))) ? 1.0r : 0.0r);
  const real down = floor(whole_part);
  const real nearest = down + (whole_part - down > 0.5r ? 1.0r : 0.0r);
  return b == 0 ? a / b : whole_part == 0 ? copysign(0.0r, a / b) : nearest;
}

static real logaddexp@(real a, real b) {
  const real rest = log1p@(exp@(-fabs(a - b)));
  return maximum@(a, b) + (a == b ? 0.6931471805599453r : rest);
}

// Winitzki's estimate, then two of Halley's steps; the defect is taken from whichever of erf and erfc does not cancel.
static real erfinv@(real x) {
  const real size = fabs(x);
  const real l = size < 0.5r ? log1p@(-size * size) : log@((1.0r - size) * (1.0r + size));
  const real h = 4.3307467508r + 0.5r * l;
  const real q = -6.8027210884r * l;
  real y = sqrt(q / (sqrt(h * h + q) + h));
  for (int i = 0; i < 2; ++i) {
    const real defect = size < 0.5r ? erf@(y) - size : (1.0r - size) - erfc@(y);
    const real step = defect / (1.1283791670955126r * exp@(-y * y));
    y -= step / (1.0r + y * step);
  }
  y = size == 1 ? INFINITY : y;
  return copysign(size <= 1 ? y : NAN, x);
}

// Rybicki's sum of Gaussians on a grid of spacing h: its error is exp(-(pi / 2h)^2), below rounding at h = 1/4.
static real dawsn@(real x) {
  const real size = fabs(x);
  const real centre = 2.0r * rint(size * 2.0r);
  const real rest = size - 0.25r * centre;
  real sum = 0;
  for (int k = 1; k < 27; k += 2) {
    const real up = rest - 0.25r * k;
    const real down = rest + 0.25r * k;
    sum += exp@(-up * up) / (centre + k) + exp@(-down * down) / (centre - k);
  }
  const real square = x * x;
  real term = 1.0r;
  real series = 1.0r;
  for (int k = 1; k < 11; ++k) {
    term *= -2.0r * square / (2 * k + 1);
    series += term;
  }
  const real inner = size < 0.25r ? size * series : 0.5641895835477563r * sum;
  const real outer = size > 1.0e5r ? 0.5r / size : inner;
  return x != x ? x : copysign(outer, x);
}

// Towards its poles and both ends it grows; Mesa's has the signs of gamma there.
static real lgamma@(real x) {
  const real value = lgamma(x);
  return isinf(value) ? INFINITY : value;
}

// Shifted up by recurrence to where the asymptotic series has converged, reflected below 1/2.
static real digamma@(real x) {
  const int low = x < 0.5r;
  real y = low ? 1.0r - x : x;
  real sum = 0;
  for (int i = 0; i < 10; ++i) {
    sum -= y < 10.0r ? 1.0r / y : 0.0r;
    y += y < 10.0r ? 1.0r : 0.0r;
  }
  const real z = 1.0r / (y * y);
  const real series = z * (0.08333333333333333r - z * (0.008333333333333333r - z * (0.003968253968253968r -
                      z * (0.004166666666666667r - z * (0.007575757575757576r - z * (0.021092796092796094r -
                      z * 0.08333333333333333r))))));
  const real positive = sum + log@(y) - 0.5r / y - series;
  const real rest = x - rint(x);
  const real reflected = positive - 3.141592653589793r * cos@(3.141592653589793r * rest) /
                         sin@(3.141592653589793r * rest);
  const real pole = x == 0 ? copysign((real)INFINITY, -x) : NAN;
  return low ? (rest == 0 ? pole : reflected) : positive;
}
static real trigamma@(real x) {
  const int low = x < 0.5r;
  real y = low ? 1.0r - x : x;
  real sum = 0;
  for (int i = 0; i < 10; ++i) {
    sum += y < 10.0r ? 1.0r / (y * y) : 0.0r;
    y += y < 10.0r ? 1.0r : 0.0r;
  }
  const real r = 1.0r / y;
  const real z = r * r;
  const real series = r * z * (0.16666666666666666r - z * (0.03333333333333333r - z * (0.023809523809523808r -
                      z * (0.03333333333333333r - z * (0.07575757575757576r - z * (0.2531135531135531r -
                      z * 1.1666666666666667r))))));
  const real positive = sum + r + 0.5r * z + series;
  const real rest = x - rint(x);
  const real s = sin@(3.141592653589793r * rest);
  // Of minus infinity the rest is NaN; SciPy counts it among the poles.
  const int pole = (rest == 0) | (x == -INFINITY);
  return low ? (pole ? INFINITY : 9.869604401089358r / (s * s) - positive) : positive;
}

// Towards zero, saturating, 0 for NaN. The bounds compared with are powers of two and so exact.
static int to_i32@(real x) {
  const int inside = (x > -2147483648.0r) & (x < 2147483648.0r);
  const int edge = x != x ? 0 : x < 0 ? INT_MIN : INT_MAX;
  return inside ? (int)(inside ? x : 0) : edge;
}
static int to_u8@(real x) { return min(max(to_i32@(x), 0), 255); }
static int to_u16@(real x) { return min(max(to_i32@(x), 0), 65535); }
static int to_i8@(real x) { return min(max(to_i32@(x), -128), 127); }
static int to_i16@(real x) { return min(max(to_i32@(x), -32768), 32767); }
static long to_i64@(real x) {
  const int inside = (x > -9223372036854775808.0r) & (x < 9223372036854775808.0r);
  const long edge = x != x ? 0 : x < 0 ? LONG_MIN : LONG_MAX;
  return inside ? (long)(inside ? x : 0) : edge;
}
static ulong to_u64@(real x) {
  const int inside = (x > 0.0r) & (x < 18446744073709551616.0r);
  return inside ? (ulong)(inside ? x : 0) : x > 0 ? ULONG_MAX : 0;
}
static long to_u32@(real x) { return min(max(to_i64@(x), 0L), 4294967295L); }
)CLC";

// Unsigned integers that compare as the numbers do, so that sorting never compares floats; NaN comes last either way,
// and 0 and -0 are equal.
const char* const ordering_section = R"CLC(
static uint order_key_f32(float x, int descending) {
  const uint size = as_uint(x) & 0x7fffffffu;
  const uint bits = size == 0 ? 0 : as_uint(x);
  const uint key = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return size > 0x7f800000u ? 0xffffffffu : descending ? ~key : key;
}
)CLC";

const char* const wide_ordering_section = R"CLC(
static ulong order_key_f64(double x, int descending) {
  const ulong size = as_ulong(x) & 0x7fffffffffffffffUL;
  const ulong bits = size == 0 ? 0 : as_ulong(x);
  const ulong key = (bits & 0x8000000000000000UL) ? ~bits : bits | 0x8000000000000000UL;
  return size > 0x7ff0000000000000UL ? 0xffffffffffffffffUL : descending ? ~key : key;
}
)CLC";

// What element `at` of `small` ones counts in element `of` of `large` ones, stretched with linear interpolation.
const char* const resizing_section = R"CLC(
static real bilinear_weight@(long at, long of, long small, long large) {
  const real scale = (real)small / (real)large;
  const real place = max(((real)of + 0.5r) * scale - 0.5r, 0.0r);
  const long below = min((long)place, small - 1);
  const long above = min(below + 1, small - 1);
  const real weight = place - (real)below;
  const real upper = at == above ? weight : 0.0r;
  return at == below ? (above == below ? 1.0r : 1.0r - weight) : upper;
}
)CLC";

}  // namespace tyto::opencl
