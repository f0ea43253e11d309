// SPDX-License-Identifier: MIT
// OpenCL C: integer functions, indices, and the narrow floating-point types within f32.
#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

const char* const narrow_section = R"CLC(
// Nearest bf16, ties to even; a NaN keeps its sign and stays one.
static uint bf16_rounded(float x) {
  const uint u = as_uint(x);
  return x != x ? (u | 0x400000u) & 0xffff0000u : (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
}
static ushort bf16_bits(float x) { return (ushort)(bf16_rounded(x) >> 16); }
static float round_bf16(float x) { return as_float(bf16_rounded(x)); }

// Nearest f16, ties to even, as a float. Below 2^-14 the spacing is fixed at 2^-24, which adding 0.75 rounds to.
static float round_f16(float x) {
  const uint u = as_uint(x);
  const float size = fabs(x);
  const float normal = as_float((u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u);
  const float tiny = copysign((size + 0.75f) - 0.75f, x);
  const float kept = size < 6.103515625e-05f ? tiny : normal;
  const float large = size >= 65520.0f ? copysign(INFINITY, x) : kept;
  return x != x ? x : large;
}
)CLC";

// The first fault is noted; who notes it is the only one to write its numbers.
const char* const index_section = R"CLC(
static void note_fault(volatile global int* faults, int code, long number, long length) {
  if (atomic_cmpxchg(faults, 0, code) == 0) {
    ((volatile global long*)faults)[1] = number;
    ((volatile global long*)faults)[2] = length;
  }
}
// The sign is shifted down: Mesa's llvmpipe 22.3 takes a negative int that was made a long for a positive one where it is
// compared with zero.
static long position_in(long index, long length, volatile global int* faults, int code) {
  const int outside = (index < -length) | (index >= length);
  if (outside) note_fault(faults, code, index, length);
  return outside ? 0 : index + (length & (index >> 63));
}
)CLC";

const char* const widening_section = R"CLC(
// Rounds to odd: rounding the result again to a narrower type gives what rounding x at once would.
static float to_odd_f32(double x) {
  const float near = (float)x;
  int u = as_int(near);
  u -= fabs((double)near) > fabs(x);
  return x != x ? near : (double)near == x ? near : as_float(u | 1);
}
)CLC";

const char* const integer_section = R"CLC(
static whole sel@(int c, whole a, whole b) { return c ? a : b; }
static whole mul_add@(whole a, whole b, whole c) { return a * b + c; }
static whole floor@(whole x) { return x; }
static whole ceil@(whole x) { return x; }
static whole trunc@(whole x) { return x; }
static whole round_even@(whole x) { return x; }
static int is_infinite@(whole x) { return 0; }
static int is_finite@(whole x) { return 1; }
static whole bit_not@(whole x) { return ~x; }
static whole maximum@(whole a, whole b) { return a > b ? a : b; }
static whole minimum@(whole a, whole b) { return a < b ? a : b; }
static whole fmax@(whole a, whole b) { return a > b ? a : b; }
static whole fmin@(whole a, whole b) { return a < b ? a : b; }
)CLC";

// Division through the divisor 1 where the result is fixed: processors trap on x / 0 and on the lowest x / -1.
const char* const signed_section = R"CLC(
static whole abs@(whole x) { return x < 0 ? (whole)(0 - (natural)x) : x; }
static whole sign@(whole x) { return (x > 0) - (x < 0); }
static natural order_key@(whole x, int descending) {
  const natural key = (natural)x ^ ((natural)1 << (8 * sizeof(whole) - 1));
  return descending ? ~key : key;
}
static whole quotient@(whole a, whole b) {
  const whole q = a / (((b == 0) | (b == -1)) ? 1 : b);
  return b == 0 ? 0 : b == -1 ? (whole)(0 - (natural)a) : q;
}
static whole fmod@(whole a, whole b) {
  return b == 0 ? 0 : (whole)((natural)a - (natural)quotient@(a, b) * (natural)b);
}
static whole remainder@(whole a, whole b) {
  const whole m = fmod@(a, b);
  return m + (((m != 0) & ((m ^ b) < 0)) ? b : 0);
}
static whole floor_divide@(whole a, whole b) {
  const whole m = fmod@(a, b);
  return quotient@(a, b) - ((m != 0) & ((m ^ b) < 0));
}
// By squaring, wrapping; a negative power is 1 over the positive one, rounded towards zero.
static whole pow@(whole a, whole b) {
  natural result = 1;
  natural factor = (natural)a;
  natural left = b < 0 ? 0 - (natural)b : (natural)b;
  while (left != 0) {
    result = (left & 1) ? result * factor : result;
    factor *= factor;
    left >>= 1;
  }
  const whole inverse = a == 1 ? 1 : a == -1 ? (whole)result : 0;
  return b < 0 ? inverse : (whole)result;
}
static natural size@(whole x) { return x < 0 ? 0 - (natural)x : (natural)x; }
static natural common_divisor@(natural a, natural b) {
  while (b != 0) {
    const natural rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static whole gcd@(whole a, whole b) { return (whole)common_divisor@(size@(a), size@(b)); }
static whole lcm@(whole a, whole b) {
  const natural divisor = common_divisor@(size@(a), size@(b));
  return divisor == 0 ? 0 : (whole)(size@(a) / divisor * size@(b));
}
static whole popcount@(whole x) { return (whole)popcount(size@(x)); }
static whole left_shift@(whole a, whole b) {
  const whole width = 8 * sizeof(whole);
  return ((b < 0) | (b >= width)) ? 0 : (whole)((natural)a << (natural)b);
}
static whole right_shift@(whole a, whole b) {
  const whole width = 8 * sizeof(whole);
  return a >> (((b < 0) | (b >= width)) ? width - 1 : b);
}
)CLC";

const char* const natural_section = R"CLC(
static ulong abs_u64(ulong x) { return x; }
static ulong sign_u64(ulong x) { return x != 0; }
static ulong order_key_u64(ulong x, int descending) { return descending ? ~x : x; }
static ulong floor_divide_u64(ulong a, ulong b) { return b == 0 ? 0 : a / (b == 0 ? 1 : b); }
static ulong fmod_u64(ulong a, ulong b) { return b == 0 ? 0 : a % (b == 0 ? 1 : b); }
static ulong remainder_u64(ulong a, ulong b) { return fmod_u64(a, b); }
static ulong pow_u64(ulong a, ulong b) {
  ulong result = 1;
  for (; b != 0; b >>= 1) {
    result = (b & 1) ? result * a : result;
    a *= a;
  }
  return result;
}
static ulong gcd_u64(ulong a, ulong b) {
  while (b != 0) {
    const ulong rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static ulong lcm_u64(ulong a, ulong b) {
  const ulong divisor = gcd_u64(a, b);
  return divisor == 0 ? 0 : a / divisor * b;
}
static ulong popcount_u64(ulong x) { return popcount(x); }
static ulong left_shift_u64(ulong a, ulong b) { return b < 64 ? a << b : 0; }
static ulong right_shift_u64(ulong a, ulong b) { return b < 64 ? a >> b : 0; }
)CLC";

}  // namespace tyto::opencl
