// SPDX-License-Identifier: MIT
// Names, promotion and half-precision conversions of element types.
#include <bit>
#include <ostream>
#include <utility>

#include "core/value/half_bits.hpp"
#include "tyto/dtype.hpp"

namespace tyto TYTO_API {

// Elements lie in memory as they do in files: those of NumPy, safetensors, ONNX and saved graphs are read in place.
static_assert(std::endian::native == std::endian::little, "Tyto reads and writes little-endian files as they lie");

const char* name_of(DType type) {
  constexpr const char* names[dtype_count] = {"bool", "u8",  "i8",  "i16",  "i32", "i64", "f16", "bf16",
                                              "f32",  "f64", "c64", "c128", "u16", "u32", "u64"};
  return names[static_cast<int>(type)];
}

std::ostream& operator<<(std::ostream& out, DType type) { return out << name_of(type); }

namespace {

/// Rank of a kind in promotion: bool, integers, floating-point, complex numbers.
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

Half::Half(float value) : bits(core::narrow_to_half(value)) {}
Half::operator float() const { return core::widen_half(bits); }
BFloat16::BFloat16(float value) : bits(core::narrow_to_bfloat(value)) {}
BFloat16::operator float() const { return core::widen_bfloat(bits); }

}  // namespace TYTO_API
