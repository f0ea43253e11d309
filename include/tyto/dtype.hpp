// SPDX-License-Identifier: MIT
// Element types: a runtime value, with the C++ types that stand behind each and the rules that combine them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// The type of a tensor's elements. `f16` and `bf16` are storage types; arithmetic on them is done in f32. `c64` and
/// `c128` are complex numbers: adjacent real and imaginary parts of f32 or f64, the layout of std::complex.
/// Graph files hold these numbers: a new type comes last.
enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64, c64, c128, u16, u32, u64 };

/// How many element types there are.
inline constexpr int dtype_count = 15;

/// IEEE half precision as stored: 1 sign, 5 exponent and 10 fraction bits.
struct TYTO_API Half {
  std::uint16_t bits = 0;  ///< as stored
  Half() = default;
  explicit Half(float value);
  /// The same number.
  explicit operator float() const;
  friend bool operator==(Half a, Half b) { return float(a) == float(b); }
};

/// bfloat16 as stored: the upper 16 bits of a float.
struct TYTO_API BFloat16 {
  std::uint16_t bits = 0;  ///< as stored
  BFloat16() = default;
  explicit BFloat16(float value);
  /// The same number.
  explicit operator float() const;
  friend bool operator==(BFloat16 a, BFloat16 b) { return float(a) == float(b); }
};

/// Bytes of one element.
constexpr std::size_t size_of(DType type) {
  constexpr std::size_t sizes[dtype_count] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

/// f16, bf16, f32 or f64.
constexpr bool is_floating(DType type) { return type >= DType::f16 && type <= DType::f64; }
/// c64 or c128.
constexpr bool is_complex(DType type) { return type == DType::c64 || type == DType::c128; }
/// Floating or complex: types whose numbers are rounded, and of which gradients exist.
constexpr bool is_inexact(DType type) { return is_floating(type) || is_complex(type); }
/// Integers from 0 on.
constexpr bool is_unsigned(DType type) { return type == DType::u8 || (type >= DType::u16 && type <= DType::u64); }
/// Any integer type, signed or not.
constexpr bool is_integer(DType type) { return is_unsigned(type) || (type >= DType::i8 && type <= DType::i64); }

/// Short name as printed and saved: "f32", "bool", ...
TYTO_API const char* name_of(DType type);
TYTO_API std::ostream& operator<<(std::ostream& out, DType type);

/// The type two tensors meet in: wider of the same kind, complex over floating over integer over bool; f16 with bf16
/// gives f32, f64 with c64 gives c128, an unsigned integer with a signed one no wider the signed one that holds both,
/// and u64 with a signed one, for which there is none, f64.
TYTO_API DType promote(DType a, DType b);

/// The type of a complex number's parts; every other type is its own.
constexpr DType real_type(DType type) {
  return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
}
/// The complex type that holds numbers of `type`: c128 for f64 and c128, else c64.
constexpr DType complex_type(DType type) { return real_type(type) == DType::f64 ? DType::c128 : DType::c64; }

/// A complex number of the host, such as std::complex<float>: recognised by its members, without including <complex>.
template <class T>
concept ComplexNumber = requires(const T& z) {
  typename T::value_type;
  requires std::is_same_v<typename T::value_type, float> || std::is_same_v<typename T::value_type, double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
  { z.real() } -> std::same_as<typename T::value_type>;
  { z.imag() } -> std::same_as<typename T::value_type>;
};

namespace detail {
template <class T>
consteval int dtype_index() {
  if (std::is_same_v<T, bool>) return 0;
  if (std::is_same_v<T, Half>) return 6;
  if (std::is_same_v<T, BFloat16>) return 7;
  if (std::is_same_v<T, float>) return 8;
  if (std::is_same_v<T, double>) return 9;
  if constexpr (ComplexNumber<T>) return sizeof(T) == 8 ? 10 : 11;
  if (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    return sizeof(T) == 1 ? 1 : sizeof(T) == 2 ? 12 : sizeof(T) == 4 ? 13 : 14;
  }
  if (std::is_integral_v<T> && std::is_signed_v<T>) {
    return sizeof(T) == 1 ? 2 : sizeof(T) == 2 ? 3 : sizeof(T) == 4 ? 4 : 5;
  }
  return -1;
}
}  // namespace detail

/// C++ types that can be elements of a tensor.
template <class T>
concept Element = (detail::dtype_index<std::remove_cv_t<T>>() >= 0);

/// The element type that corresponds to a C++ type.
template <Element T>
inline constexpr DType dtype_of = static_cast<DType>(detail::dtype_index<std::remove_cv_t<T>>());

}  // namespace TYTO_API
