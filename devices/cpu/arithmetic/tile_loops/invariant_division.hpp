// SPDX-License-Identifier: MIT
// Quotients and remainders of many 64-bit integers by one number: products with its reciprocal, since processors divide
// such integers slowly and one by one.
//
// Everything has internal linkage or lies in the instruction set's namespace, so that sets share no symbol.
#pragma once

#include "devices/cpu/arithmetic/scalar_functions.hpp"
#include "devices/cpu/arithmetic/simd.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using u128 = unsigned __int128;
#pragma GCC diagnostic pop

#if defined(__AVX2__)
/// Numbers side by side.
using Quad = Simd<u64, 32>::Vector;
using SignedQuad = Simd<i64, 32>::Vector;

TYTO_VECTOR_INLINE Quad negative_mask(Quad a) { return (Quad)((SignedQuad)a < 0); }
TYTO_VECTOR_INLINE Quad positive_mask(Quad a) { return (Quad)((SignedQuad)a > 0); }

/// The upper half of each product: vectors multiply numbers of 32 bits.
TYTO_VECTOR_INLINE Quad high(Quad a, u64 b) {
  const auto product = [](Quad x, Quad y) { return (Quad)_mm256_mul_epu32((__m256i)x, (__m256i)y); };
  const Quad low_half = Quad{} + 0xffffffffU, low = Quad{} + b, upper = Quad{} + (b >> 32), a_upper = a >> 32;
  const Quad middle = product(a, upper) + (product(a, low) >> 32);
  const Quad other = product(a_upper, low) + (middle & low_half);
  return product(a_upper, upper) + (middle >> 32) + (other >> 32);
}
#endif

TYTO_VECTOR_INLINE u64 negative_mask(u64 a) { return static_cast<u64>(static_cast<i64>(a) >> 63); }
TYTO_VECTOR_INLINE u64 positive_mask(u64 a) { return static_cast<i64>(a) > 0 ? ~u64{0} : 0; }
TYTO_VECTOR_INLINE u64 high(u64 a, u64 b) { return static_cast<u64>(static_cast<u128>(a) * b >> 64); }

/// floor(t / d) for 0 <= t <= 2^63 and 2 <= d <= 2^63 (Granlund and Montgomery, "Division by invariant integers using
/// multiplication"): with 2^(l-1) < d <= 2^l and m = ceil(2^(63+l) / d), which has 64 bits, the error of t m / 2^(63+l)
/// is below t / 2^(63+l) <= 1 / 2^l <= 1 / d, and zero where d is a power of two.
struct Reciprocal {
  u64 factor;
  int shift;

  explicit Reciprocal(u64 d) : shift(63 - __builtin_clzll(d - 1)) {
    const u128 power = static_cast<u128>(1) << (64 + shift);
    factor = static_cast<u64>((power + (d - 1)) / d);
  }
  template <class V>
  V operator()(V t) const {
    return high(t, factor) >> shift;
  }
};

/// y[i] = f(a[i]) for f that takes one number, or several side by side.
template <class F>
void each_quotient(const i64* a, i64* y, size_t n, const F& f) {
  size_t i = 0;
#if defined(__AVX2__)
  for (; i + 4 <= n; i += 4) {
    Quad x;
    __builtin_memcpy(&x, a + i, sizeof x);
    x = f(x);
    __builtin_memcpy(y + i, &x, sizeof x);
  }
#endif
  for (; i < n; ++i) y[i] = static_cast<i64>(f(static_cast<u64>(a[i])));
}

inline u64 magnitude(i64 d) { return d < 0 ? u64{0} - static_cast<u64>(d) : static_cast<u64>(d); }

/// Quotients rounded down, remainders with the divisor's sign and with the dividend's: each in wrapping arithmetic, by
/// run() for a divisor that is not 0, 1 or -1, by each() for any divisors.
struct FlooredQuotients {
  static void each(const i64* a, const i64* b, i64* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = floor_divide(a[i], b[i]);
  }
  /// floor(-t / d) = -1 - floor((t - 1) / d).
  template <class V>
  static V above(V x, const Reciprocal& times) {
    const V sign = negative_mask(x);
    return times(x ^ sign) ^ sign;
  }
  template <class V>
  static V below(V x, const Reciprocal& times) {
    const V positive = positive_mask(x);
    return times(((x - 1) & positive) | ((0 - x) & ~positive)) ^ positive;
  }
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const Reciprocal times(magnitude(d));
    if (d > 0) each_quotient(a, y, n, [times](auto x) { return above(x, times); });
    else each_quotient(a, y, n, [times](auto x) { return below(x, times); });
  }
};
struct FlooredRemainders {
  // Whether b is added is compared in vectors: a branch on signs that nothing predicts takes longer than the division.
  static void each(const i64* a, const i64* b, i64* y, size_t n) {
    constexpr size_t together = 64;
    i64 truncated[together];
    for (size_t i = 0; i < n; i += together) {
      const size_t count = n - i < together ? n - i : together;
      for (size_t k = 0; k < count; ++k) truncated[k] = fmod(a[i + k], b[i + k]);
      for (size_t k = 0; k < count; ++k) {
        const i64 m = truncated[k], d = b[i + k];
        y[i + k] = m + (d & -static_cast<i64>((m != 0) & ((m ^ d) < 0)));
      }
    }
  }
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const Reciprocal times(magnitude(d));
    const u64 divisor = static_cast<u64>(d);
    if (d > 0) each_quotient(a, y, n, [=](auto x) { return x - FlooredQuotients::above(x, times) * divisor; });
    else each_quotient(a, y, n, [=](auto x) { return x - FlooredQuotients::below(x, times) * divisor; });
  }
};
struct TruncatedRemainders {
  static void each(const i64* a, const i64* b, i64* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = fmod(a[i], b[i]);
  }
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const u64 divisor = magnitude(d);
    const Reciprocal times(divisor);
    each_quotient(a, y, n, [=](auto x) {
      const auto sign = negative_mask(x), t = (x ^ sign) - sign;
      return ((t - times(t) * divisor) ^ sign) - sign;
    });
  }
};

/// Whether all of a run are one number by whose reciprocal the others are better multiplied.
inline bool is_invariant(const i64* b, size_t n) {
  constexpr size_t shortest = 16;
  if (n < shortest || (b[0] >= -1 && b[0] <= 1)) return false;
  u64 differences = 0;
  for (size_t i = 1; i < n; ++i) differences |= static_cast<u64>(b[i] ^ b[0]);
  return differences == 0;
}

}  // namespace

}  // namespace tyto::cpu::TYTO_ISA
