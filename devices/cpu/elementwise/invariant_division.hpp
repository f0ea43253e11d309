// Quotients and remainders of many 64-bit integers by one number: products with its reciprocal, since processors divide
// such integers slowly and one by one.
//
// Everything has internal linkage or lies in the instruction set's namespace, so that sets share no symbol.
#pragma once

#include "devices/cpu/scalar_functions.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using u128 = unsigned __int128;
#pragma GCC diagnostic pop

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
  TYTO_VECTOR_INLINE u64 high(u64 a, u64 b) { return static_cast<u64>(static_cast<u128>(a) * b >> 64); }
  u64 operator()(u64 t) const { return high(t, factor) >> shift; }
};

/// Quotients rounded down, remainders with the divisor's sign and with the dividend's: each in wrapping arithmetic, for
/// a divisor that is not 0, 1 or -1.
struct FlooredQuotients {
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const Reciprocal times(magnitude(d));
    if (d > 0) {
      // floor(-t / d) = -1 - floor((t - 1) / d).
      for (size_t i = 0; i < n; ++i) {
        const u64 sign = static_cast<u64>(a[i] >> 63);
        y[i] = static_cast<i64>(times(static_cast<u64>(a[i]) ^ sign) ^ sign);
      }
    } else {
      for (size_t i = 0; i < n; ++i) {
        const u64 positive = a[i] > 0 ? ~u64{0} : 0, x = static_cast<u64>(a[i]);
        y[i] = static_cast<i64>(times(a[i] > 0 ? x - 1 : u64{0} - x) ^ positive);
      }
    }
  }
  static u64 magnitude(i64 d) { return d < 0 ? u64{0} - static_cast<u64>(d) : static_cast<u64>(d); }
};
struct FlooredRemainders {
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const Reciprocal times(FlooredQuotients::magnitude(d));
    const u64 divisor = static_cast<u64>(d);
    for (size_t i = 0; i < n; ++i) {
      const u64 x = static_cast<u64>(a[i]);
      u64 quotient;
      if (d > 0) {
        const u64 sign = static_cast<u64>(a[i] >> 63);
        quotient = times(x ^ sign) ^ sign;
      } else {
        quotient = times(a[i] > 0 ? x - 1 : u64{0} - x) ^ (a[i] > 0 ? ~u64{0} : 0);
      }
      y[i] = static_cast<i64>(x - quotient * divisor);
    }
  }
};
struct TruncatedRemainders {
  static void run(const i64* a, i64 d, i64* y, size_t n) {
    const u64 divisor = FlooredQuotients::magnitude(d);
    const Reciprocal times(divisor);
    for (size_t i = 0; i < n; ++i) {
      const u64 sign = static_cast<u64>(a[i] >> 63), t = (static_cast<u64>(a[i]) ^ sign) - sign;
      y[i] = static_cast<i64>(((t - times(t) * divisor) ^ sign) - sign);
    }
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
