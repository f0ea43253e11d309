// Names, promotion and half-precision conversions of element types.
#include <bit>
#include <cmath>
#include <ostream>
#include <utility>

#include "tyto/dtype.hpp"

namespace tyto TYTO_API {

const char* name_of(DType type) {
  constexpr const char* names[dtype_count] = {"bool", "u8",  "i8",  "i16",  "i32", "i64", "f16", "bf16",
                                              "f32",  "f64", "c64", "c128", "u16", "u32", "u64"};
  return names[static_cast<int>(type)];
}

std::ostream& operator<<(std::ostream& out, DType type) { return out << name_of(type); }

namespace {

/// Bool, integers, floating-point and complex numbers: the lesser kind gives way.
int kind_of(DType type) { return is_complex(type) ? 3 : is_floating(type) ? 2 : is_integer(type) ? 1 : 0; }

/// An unsigned integer and a signed one.
DType promote_signs(DType a, DType b) {
  const auto [natural, with_sign] = is_unsigned(a) ? std::pair(a, b) : std::pair(b, a);
  if (natural == DType::u64) return DType::f64;
  if (size_of(natural) < size_of(with_sign)) return with_sign;
  return natural == DType::u8 ? DType::i16 : natural == DType::u16 ? DType::i32 : DType::i64;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) > kind_of(b)) return promote(b, a);
  if (is_complex(b)) return complex_type(a) == DType::c128 ? DType::c128 : b;
  if (kind_of(a) < kind_of(b)) return b;
  if (is_floating(b) && size_of(a) == size_of(b)) return DType::f32;  // f16 and bf16
  if (is_unsigned(a) != is_unsigned(b) && !is_floating(b)) return promote_signs(a, b);
  return size_of(a) > size_of(b) ? a : b;
}

namespace {

// Round to nearest, ties to even, when dropping the low 16 bits of a float. NaN keeps its sign and stays NaN.
std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds beyond 65504
  if (magnitude < 0x38800000u) {
    // Subnormal half: adding 0.5 lines the fraction up with the float's last bits and rounds to even in hardware.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

}  // namespace

Half::Half(float value) : bits(to_half(value)) {}
Half::operator float() const { return from_half(bits); }
BFloat16::BFloat16(float value) : bits(to_bfloat16(value)) {}
BFloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace TYTO_API
