// SPDX-License-Identifier: MIT
// Philox 4x32-10 (Salmon and others, 2011) and the distributions made of it, compiled for TYTO_ISA.
#include "devices/cpu/random/random_loops.hpp"
#include "devices/cpu/arithmetic/simd.hpp"
#include "devices/cpu/arithmetic/vector_math.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

/// Blocks of four words, word by word, so that loops over blocks vectorise.
struct Blocks {
  alignas(64) uint32_t word[4][random_run];
};

using Lanes64 = Simd<uint64_t, TYTO_VECTOR_BYTES>;
using Lanes32 = Simd<uint32_t, TYTO_VECTOR_BYTES / 2>;
using Words = Lanes64::Vector;

/// Products of the lower halves of lanes, of which the upper ones may hold anything.
TYTO_VECTOR_INLINE Words product(Words a, Words b) {
#if defined(__AVX512F__)
  return (Words)_mm512_maskz_mul_epu32(0xFF, (__m512i)a, (__m512i)b);  // GCC 12 warns of what is behind the other
#elif defined(__AVX2__)
  return (Words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Words)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__ARM_NEON)
  return (Words)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

/// Blocks first .. first + n - 1 of the stream. `attempt` selects further blocks where a first one was rejected.
TYTO_VECTOR_INLINE void philox(Blocks& blocks, const RandomStream& stream, uint64_t first, size_t n,
                               uint32_t attempt = 0) {
  Words block{};
  for (size_t k = 0; k < Lanes64::lanes; ++k) block[k] = first + k;
  for (size_t i = 0; i < n; i += Lanes64::lanes, block += Lanes64::lanes) {
    Words c[4] = {block, block >> 32, Lanes64::all(stream.draw), Lanes64::all(stream.draw >> 32)};
    uint32_t k0 = static_cast<uint32_t>(stream.seed), k1 = static_cast<uint32_t>(stream.seed >> 32) ^ attempt;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const Words a = product(c[0], Lanes64::all(0xD2511F53u)), b = product(c[2], Lanes64::all(0xCD9E8D57u));
      c[0] = b >> 32 ^ c[1] ^ Lanes64::all(k0);
      c[2] = a >> 32 ^ c[3] ^ Lanes64::all(k1);
      c[1] = b, c[3] = a;
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
#pragma GCC unroll 4
    for (size_t w = 0; w < 4; ++w) Lanes32::store(blocks.word[w] + i, __builtin_convertvector(c[w], Lanes32::Vector));
  }
}

TYTO_VECTOR_INLINE uint64_t joined(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// [0, 1) in steps of 2^-24 and 2^-53. The conversions are of signed numbers, which have instructions.
TYTO_VECTOR_INLINE float unit(uint32_t word) { return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f; }
TYTO_VECTOR_INLINE double unit(uint32_t high, uint32_t low) {
  return static_cast<double>(static_cast<int64_t>(joined(high, low) >> 11)) * 0x1p-53;
}
/// (0, 1] in steps of 2^-32.
TYTO_VECTOR_INLINE double open_unit(uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

/// Elements that take one word each: element i has word i % 4 of block i / 4.
template <class T, class Make>
TYTO_VECTOR_INLINE void from_words(void* out, const RandomStream& stream, uint64_t index, size_t n, Make make) {
  T* y = static_cast<T*>(out);
  Blocks blocks;
  const size_t count = (n + 3) / 4;
  philox(blocks, stream, index / 4, count);
  alignas(64) uint32_t words[random_run];
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 4; ++k) words[4 * i + k] = blocks.word[k][i];
  }
  for (size_t i = 0; i < n; ++i) y[i] = make(words[i]);
}

/// Elements that take a whole block each.
template <class T, class Make>
TYTO_VECTOR_INLINE void from_blocks(void* out, const RandomStream& stream, uint64_t index, size_t n, Make make) {
  T* y = static_cast<T*>(out);
  Blocks blocks;
  philox(blocks, stream, index, n);
  for (size_t i = 0; i < n; ++i) {
    y[i] = make(blocks.word[0][i], blocks.word[1][i], blocks.word[2][i], blocks.word[3][i]);
  }
}

void words(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  from_blocks<uint64_t>(out, stream, index, n,
                        [](uint32_t w0, uint32_t w1, uint32_t, uint32_t) { return joined(w0, w1); });
}

TYTO_VECTOR_INLINE int64_t saturated(double x) {
  return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}

/// A 64-bit word times the number of values, of which the upper half counts: unbiased to 2^-64 of the range.
void integers(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  __extension__ typedef unsigned __int128 Wide;
  const int64_t low = saturated(stream.first), high = saturated(stream.second);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  from_blocks<int64_t>(out, stream, index, n, [=](uint32_t w0, uint32_t w1, uint32_t, uint32_t) {
    const uint64_t step = static_cast<uint64_t>(Wide{joined(w0, w1)} * range >> 64);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + step);
  });
}

void bernoulli(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const float probability = static_cast<float>(stream.first);
  from_words<uint8_t>(out, stream, index, n, [=](uint32_t w) { return static_cast<uint8_t>(unit(w) < probability); });
}

void uniform_f32(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const float low = static_cast<float>(stream.first), range = static_cast<float>(stream.second - stream.first);
  from_words<float>(out, stream, index, n, [=](uint32_t w) { return low + range * unit(w); });
}
void uniform_f64(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const double low = stream.first, range = stream.second - stream.first;
  from_blocks<double>(out, stream, index, n,
                      [=](uint32_t w0, uint32_t w1, uint32_t, uint32_t) { return low + range * unit(w0, w1); });
}

/// Box and Muller. Half a step keeps the logarithm's argument from zero.
void normal_f32(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const float mean = static_cast<float>(stream.first), deviation = static_cast<float>(stream.second);
  from_blocks<float>(out, stream, index, n, [=](uint32_t w0, uint32_t w1, uint32_t, uint32_t) {
    const float u = unit(w0) + 0x1p-25f;
    return mean + deviation * (sqrt(-2.0f * log(u)) * cos_near(6.28318530718f * unit(w1)));
  });
}
void normal_f64(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const double mean = stream.first, deviation = stream.second;
  from_blocks<double>(out, stream, index, n, [=](uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    const double u = unit(w0, w1) + 0x1p-54;
    return mean + deviation * (sqrt(-2.0 * log(u)) * cos_near(6.28318530717958648 * unit(w2, w3)));
  });
}

/// The inverse distribution function of the normal distribution cut off at two standard deviations.
TYTO_VECTOR_INLINE double truncated(double u) {
  constexpr double erf_of_sqrt2 = 0.954499736103641586, sqrt2 = 1.41421356237309505;
  return sqrt2 * erfinv(erf_of_sqrt2 * (2.0 * u - 1.0));
}
void truncated_normal_f32(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const float mean = static_cast<float>(stream.first), deviation = static_cast<float>(stream.second);
  from_words<float>(out, stream, index, n, [=](uint32_t w) {
    return mean + deviation * static_cast<float>(truncated(static_cast<double>(unit(w))));
  });
}
void truncated_normal_f64(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const double mean = stream.first, deviation = stream.second;
  from_blocks<double>(out, stream, index, n, [=](uint32_t w0, uint32_t w1, uint32_t, uint32_t) {
    return mean + deviation * truncated(unit(w0, w1));
  });
}

void exponential_f32(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const float scale_of = static_cast<float>(-1.0 / stream.first);
  from_words<float>(out, stream, index, n, [=](uint32_t w) { return scale_of * log1p(-unit(w)); });
}
void exponential_f64(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const double scale_of = -1.0 / stream.first;
  from_blocks<double>(out, stream, index, n,
                      [=](uint32_t w0, uint32_t w1, uint32_t, uint32_t) { return scale_of * log1p(-unit(w0, w1)); });
}

/// Marsaglia and Tsang's method: a normal number, transformed, and accepted about 19 times in 20.
struct Gamma {
  double d, c, boost;  // boost: 1 / shape where the shape is below 1, else 0

  /// The candidate of a block; negative where it is rejected.
  TYTO_VECTOR_INLINE double candidate(const Gamma& g, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    const double u = open_unit(w0), turn = static_cast<double>(w1) * 0x1p-32;
    const double x = sqrt(-2.0 * log(u)) * cos_near(6.28318530717958648 * turn);
    const double t = 1.0 + g.c * x;
    const double v = t * t * t;
    const double bound = 0.5 * x * x + g.d - g.d * v + g.d * log(select(t > 0.0, v, 1.0));
    // A shape below one is drawn as the next higher one times a power of a uniform number.
    const double value = g.d * v * exp(g.boost * log(open_unit(w3)));
    return select(t > 0.0, select(log(open_unit(w2)) < bound, value, -1.0), -1.0);
  }
};

void gamma_f64(void* out, const RandomStream& stream, uint64_t index, size_t n) {
  const bool small = stream.first < 1.0;
  const double d = (small ? stream.first + 1.0 : stream.first) - 1.0 / 3.0;
  const Gamma g{d, 1.0 / sqrt(9.0 * d), small ? 1.0 / stream.first : 0.0};
  double* y = static_cast<double*>(out);
  from_blocks<double>(out, stream, index, n, [=](uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    return Gamma::candidate(g, w0, w1, w2, w3);
  });
  for (size_t i = 0; i < n; ++i) {
    for (uint32_t attempt = 1; y[i] < 0.0; ++attempt) {
      Blocks again;
      philox(again, stream, index + i, 1, attempt);
      y[i] = Gamma::candidate(g, again.word[0][0], again.word[1][0], again.word[2][0], again.word[3][0]);
    }
    y[i] *= stream.second;
  }
}

}  // namespace

const RandomLoops random_loops = {words,
                                  integers,
                                  bernoulli,
                                  uniform_f32,
                                  uniform_f64,
                                  normal_f32,
                                  normal_f64,
                                  truncated_normal_f32,
                                  truncated_normal_f64,
                                  exponential_f32,
                                  exponential_f64,
                                  gamma_f64};

}  // namespace tyto::cpu::TYTO_ISA
