// SPDX-License-Identifier: MIT
// The bit arithmetic of f16 and bf16, written without branches so that it vectorises.
#include "devices/cpu/arithmetic/half_precision.hpp"

#include <bit>

namespace tyto::cpu {

namespace {

float from_bf16(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::uint16_t to_bf16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

// Exponent and fraction move into place; multiplying by 2^112 mends the exponent's bias and normalises subnormals.
float from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, rest = std::uint32_t{bits & 0x7fffu} << 13;
  const float scaled = std::bit_cast<float>(rest) * 0x1p112f;
  const std::uint32_t special = rest | 0x7f800000u;
  const std::uint32_t magnitude = (bits & 0x7c00u) == 0x7c00u ? special : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(sign | magnitude);
}

std::uint16_t to_f16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Normal results: re-bias the exponent, then round to nearest even; a carry runs into the exponent, up to infinity.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 leaves the rounded count of 2^-24 in the low fraction bits.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t bounded = magnitude >= 0x47800000u ? 0x7c00u : finite;
  const std::uint32_t result = magnitude > 0x7f800000u ? 0x7e00u : bounded;
  return static_cast<std::uint16_t>(sign | result);
}

template <class Convert, class From, class To>
void convert(const From* from, std::int64_t from_stride, To* to, std::int64_t to_stride, std::int64_t count,
             Convert one) noexcept {
  if (from_stride == 1 && to_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = one(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = one(from[i * from_stride]);
  }
}

}  // namespace

void widen(DType from_type, const void* from, std::int64_t stride, float* to, std::int64_t count) noexcept {
  const auto* halves = static_cast<const std::uint16_t*>(from);
  if (from_type == DType::f16) {
    convert(halves, stride, to, 1, count, [](std::uint16_t bits) { return from_f16(bits); });
  } else {
    convert(halves, stride, to, 1, count, [](std::uint16_t bits) { return from_bf16(bits); });
  }
}

void narrow(const float* from, DType to_type, void* to, std::int64_t stride, std::int64_t count) noexcept {
  auto* halves = static_cast<std::uint16_t*>(to);
  if (to_type == DType::f16) {
    convert(from, 1, halves, stride, count, [](float value) { return to_f16(value); });
  } else {
    convert(from, 1, halves, stride, count, [](float value) { return to_bf16(value); });
  }
}

}  // namespace tyto::cpu
