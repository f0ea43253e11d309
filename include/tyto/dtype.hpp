// Element types: a runtime value, with the C++ types that stand behind each and the rules that combine them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// The type of a tensor's elements. `f16` and `bf16` are storage types; arithmetic on them is done in f32.
enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

inline constexpr int dtype_count = 10;

/// IEEE half precision as stored: 1 sign, 5 exponent and 10 fraction bits.
struct TYTO_API Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  friend bool operator==(Half a, Half b) { return float(a) == float(b); }
};

/// bfloat16 as stored: the upper 16 bits of a float.
struct TYTO_API BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
  friend bool operator==(BFloat16 a, BFloat16 b) { return float(a) == float(b); }
};

/// Bytes of one element.
constexpr std::size_t size_of(DType type) {
  constexpr std::size_t sizes[dtype_count] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

constexpr bool is_floating(DType type) { return type >= DType::f16; }
constexpr bool is_integer(DType type) { return type >= DType::u8 && type <= DType::i64; }

/// Short name as printed and saved: "f32", "bool", ...
TYTO_API const char* name_of(DType type);
TYTO_API std::ostream& operator<<(std::ostream& out, DType type);

/// The type two tensors meet in: wider of the same kind, floating over integer over bool; f16 with bf16 gives f32.
TYTO_API DType promote(DType a, DType b);

namespace detail {
template <class T>
consteval int dtype_index() {
  if (std::is_same_v<T, bool>) return 0;
  if (std::is_same_v<T, Half>) return 6;
  if (std::is_same_v<T, BFloat16>) return 7;
  if (std::is_same_v<T, float>) return 8;
  if (std::is_same_v<T, double>) return 9;
  if (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 1) return 1;
  if (std::is_integral_v<T> && std::is_signed_v<T>) {
    return sizeof(T) == 1 ? 2 : sizeof(T) == 2 ? 3 : sizeof(T) == 4 ? 4 : 5;
  }
  return -1;
}
}  // namespace detail

/// C++ types that can be elements of a tensor.
template <class T>
concept Element = (detail::dtype_index<std::remove_cv_t<T>>() >= 0);

/// The element type that a C++ type stands for.
template <Element T>
inline constexpr DType dtype_of = static_cast<DType>(detail::dtype_index<std::remove_cv_t<T>>());

}  // namespace TYTO_API
