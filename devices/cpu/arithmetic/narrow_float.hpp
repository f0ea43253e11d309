// Conversions between f32 and the 16-bit storage formats, branch-free so that loops over them vectorise.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

// Internal linkage throughout: sources compiled for different instruction sets must not share one of these.

[[gnu::always_inline]] static inline float widen(Half value) {
  const std::uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  // The fraction stands where a float wants it; only the exponent's bias is off, and multiplying mends subnormals too.
  const auto scaled = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f);
  const std::uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : scaled;
  return __builtin_bit_cast(float, bits | sign);
}

[[gnu::always_inline]] static inline float widen(BFloat16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}

[[gnu::always_inline]] static inline Half narrow_to_half(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 lines the fraction up with the float's last bits, which rounds it to even.
  const std::uint32_t subnormal =
      __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  Half result;
  result.bits = static_cast<std::uint16_t>(sign | (magnitude >= 0x477ff000u ? large : finite));
  return result;
}

[[gnu::always_inline]] static inline BFloat16 narrow_to_bfloat16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  BFloat16 result;
  result.bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  return result;
}

// What a stored element is computed with: itself, or float for the 16-bit formats.
template <class T>
struct ComputeType {
  using Type = T;
};
template <>
struct ComputeType<Half> {
  using Type = float;
};
template <>
struct ComputeType<BFloat16> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeType<T>::Type;

template <class T>
[[gnu::always_inline]] static inline Compute<T> load_element(T value) {
  if constexpr (sizeof(Compute<T>) != sizeof(T)) {
    return widen(value);
  } else {
    return value;
  }
}

/// Rounds a computed value to its storage format.
template <class T>
struct StoreElement {
  [[gnu::always_inline]] static inline T from(Compute<T> value) { return value; }
};
template <>
struct StoreElement<Half> {
  [[gnu::always_inline]] static inline Half from(float value) { return narrow_to_half(value); }
};
template <>
struct StoreElement<BFloat16> {
  [[gnu::always_inline]] static inline BFloat16 from(float value) { return narrow_to_bfloat16(value); }
};

}  // namespace tyto::cpu
