// OpenCL C: the counter-based random numbers of Philox 4x32-10 (Salmon and others, 2011).
#include "devices/opencl/mathematics_source.hpp"

namespace tyto::opencl {

const char* const random_section = R"CLC(
static uint4 philox(ulong block, ulong draw, ulong seed) {
  uint4 c = (uint4)((uint)block, (uint)(block >> 32), (uint)draw, (uint)(draw >> 32));
  uint2 k = (uint2)((uint)seed, (uint)(seed >> 32));
  for (int round = 0; round < 10; ++round) {
    const ulong a = (ulong)c.x * 0xD2511F53u;
    const ulong b = (ulong)c.z * 0xCD9E8D57u;
    c = (uint4)((uint)(b >> 32) ^ c.y ^ k.x, (uint)b, (uint)(a >> 32) ^ c.w ^ k.y, (uint)a);
    k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
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
// Box and Muller. The half keeps the logarithm's argument from zero.
static float normal_f32(ulong i, ulong draw, ulong seed) {
  const uint4 w = philox(i, draw, seed);
  const float u = ((float)(w.x >> 8) + 0.5f) * 5.9604644775390625e-08f;
  return sqrt(-2.0f * log(u)) * cospi(2.0f * unit_f32(w.y));
}
)CLC";

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
  return sqrt(-2.0 * log(u)) * cospi(2.0 * unit_f64(w.z, w.w));
}
)CLC";

}  // namespace tyto::opencl
