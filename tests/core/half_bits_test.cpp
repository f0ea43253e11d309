// SPDX-License-Identifier: MIT
// f16 as f32, each of its 65,536 values, also where the processor was told to read subnormal numbers as zero.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "core/value/half_bits.hpp"

namespace {

/// IEEE 754: sign, five bits of exponent biased by 15, ten of fraction.
float by_definition(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

int wrong_values() {
  int wrong = 0;
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float got = tyto::core::widen_half(half), want = by_definition(half);
    wrong +=
        std::isnan(want) ? !std::isnan(got) : std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(want);
  }
  return wrong;
}

}  // namespace

TEST_CASE("widen_half gives every f16 number as f32") { CHECK(wrong_values() == 0); }

#if defined(__x86_64__)
TEST_CASE("widen_half does so where the processor reads subnormal numbers as zero") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // subnormal operands are zero, and so are subnormal results
  const int wrong = wrong_values();
  _mm_setcsr(before);
  CHECK(wrong == 0);
}
#endif
