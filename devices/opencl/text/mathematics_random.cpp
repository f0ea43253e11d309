// SPDX-License-Identifier: MIT
// OpenCL C: the counter-based random numbers of Philox 4x32-10 (Salmon and others, 2011).
#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

// Written out ten times: around a loop of rounds, PoCL makes no vectors of the loop over elements.
#define TYTO_ROUND                                                                                  \
  "\n  a = (ulong)c0 * 0xD2511F53u; b = (ulong)c2 * 0xCD9E8D57u;"                                   \
  "\n  c0 = (uint)(b >> 32) ^ c1 ^ k0; c1 = (uint)b; c2 = (uint)(a >> 32) ^ c3 ^ k1; c3 = (uint)a;" \
  "\n  k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;"
#define TYTO_FIVE_ROUNDS TYTO_ROUND TYTO_ROUND TYTO_ROUND TYTO_ROUND TYTO_ROUND

const char* const random_section = R"CLC(
// In scalars, so that loops over elements become vectors.
static uint4 philox(ulong block, ulong draw, ulong seed) {
  uint c0 = (uint)block, c1 = (uint)(block >> 32), c2 = (uint)draw, c3 = (uint)(draw >> 32);
  uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
  ulong a, b;)CLC" TYTO_FIVE_ROUNDS TYTO_FIVE_ROUNDS R"CLC(
  return (uint4)(c0, c1, c2, c3);
}
// Word i of a stream that takes one word an element.
static uint philox_word(ulong i, ulong draw, ulong seed) {
  const uint4 c = philox(i >> 2, draw, seed);
  const uint low = (i & 1) ? c.y : c.x;
  const uint high = (i & 1) ? c.w : c.z;
  return (i & 2) ? high : low;
}
static float unit_f32(uint word) { return (float)(word >> 8) * 5.9604644775390625e-08f; }
static float uniform_f32(ulong i, ulong draw, ulong seed) { return unit_f32(philox_word(i, draw, seed)); }
// Box and Muller, by the CPU's formula. The half keeps the logarithm's argument from zero.
static float normal_f32(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  const float u = ((float)(w.x >> 8) + 0.5f) * 5.9604644775390625e-08f;
  return sqrt(-2.0f * log_f32(u)) * cos_f32(6.28318530718f * unit_f32(w.y));
}
static float exponential_f32(ulong i, ulong draw, ulong seed) {
  return log1p_f32(-unit_f32(philox_word(i, draw, seed)));
}
// A 64-bit word times the number of values, of which the upper half counts.
static long integer_below(ulong i, ulong draw, ulong seed, ulong range) {
  const uint4 w = philox(i, draw, seed);
  return (long)mul_hi(((ulong)w.x << 32) | w.y, range);
}
// The inverse distribution function of the normal distribution cut off at two standard deviations.
static float truncated_normal_f32(ulong i, ulong draw, ulong seed) {
  const float u = unit_f32(philox_word(i, draw, seed));
  return 1.41421356237309505f * erfinv_f32(0.954499736103641586f * (2.0f * u - 1.0f));
}
)CLC";

#undef TYTO_FIVE_ROUNDS
#undef TYTO_ROUND

const char* const wide_random_section = R"CLC(
static double unit_f64(uint high, uint low) {
  return (double)((((ulong)high << 32) | low) >> 11) * 1.1102230246251565e-16;
}
static double uniform_f64(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  return unit_f64(w.x, w.y);
}
static double normal_f64(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  const double u = unit_f64(w.x, w.y) + 5.5511151231257827e-17;
  return sqrt(-2.0 * log_f64(u)) * cos_f64(6.28318530717958648 * unit_f64(w.z, w.w));
}
static double exponential_f64(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  return log1p_f64(-unit_f64(w.x, w.y));
}
static double truncated_normal(double u) {
  return 1.41421356237309505 * erfinv_f64(0.954499736103641586 * (2.0 * u - 1.0));
}
static float truncated_normal_f32(ulong i, ulong draw, ulong seed) {
  return (float)truncated_normal((double)unit_f32(philox_word(i, draw, seed)));
}
static double truncated_normal_f64(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  return truncated_normal(unit_f64(w.x, w.y));
}
// (0, 1] in steps of 2^-32.
static double open_unit(uint word) { return ((double)word + 0.5) * 2.3283064365386962890625e-10; }
// Marsaglia and Tsang's method: a normal number, transformed, and accepted about 19 times in 20; negative where it is
// rejected. A shape below one is drawn as the next higher one times a power of a uniform number.
static double gamma_candidate(uint4 w, double d, double c, double boost) {
  const double x = sqrt(-2.0 * log_f64(open_unit(w.x))) *
                   cos_f64(6.28318530717958648 * ((double)w.y * 2.3283064365386962890625e-10));
  const double t = 1.0 + c * x;
  const double v = t * t * t;
  const double bound = 0.5 * x * x + d - d * v + d * log(t > 0.0 ? v : 1.0);
  const double value = d * v * exp(boost * log(open_unit(w.w)));
  return t > 0.0 && log(open_unit(w.z)) < bound ? value : -1.0;
}
static double gamma_f64(ulong i, ulong draw, ulong seed, double d, double c, double boost) {
  double value = gamma_candidate(philox(i, draw, seed), d, c, boost);
  for (uint attempt = 1; value < 0.0; ++attempt) {
    value = gamma_candidate(philox(i, draw, seed ^ ((ulong)attempt << 32)), d, c, boost);
  }
  return value;
}
)CLC";

}  // namespace tyto::opencl
