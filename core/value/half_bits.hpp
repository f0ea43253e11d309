// SPDX-License-Identifier: MIT
// Conversions between f32 and the bits of the 16-bit floating-point types, without branches so that loops over them
// vectorise.
#pragma once

#include <cstdint>

namespace tyto::core {

// Internal linkage throughout: sources compiled for different instruction sets must not share one of these.

[[gnu::always_inline]] static inline float widen_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  // Not by the float of the same fraction: that is subnormal, and read as 0 by a processor that flushes subnormals.
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  const std::uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u);
  return __builtin_bit_cast(float, (magnitude < 0x400u ? __builtin_bit_cast(std::uint32_t, subnormal) : normal) | sign);
}

[[gnu::always_inline]] static inline std::uint16_t narrow_to_half(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 lines the fraction up with the float's last bits and rounds it to even.
  const std::uint32_t subnormal =
      __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t endless = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return static_cast<std::uint16_t>(sign | (magnitude >= 0x477ff000u ? endless : finite));  // beyond 65504
}

[[gnu::always_inline]] static inline float widen_bfloat(std::uint16_t value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value) << 16);
}

/// Round to nearest, ties to even. NaN keeps its sign and stays NaN.
[[gnu::always_inline]] static inline std::uint16_t narrow_to_bfloat(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace tyto::core
