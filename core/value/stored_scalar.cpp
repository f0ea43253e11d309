// SPDX-License-Identifier: MIT
// The value that an element of some type stores for a scalar.
#include "core/value/stored_scalar.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/value/text.hpp"

namespace tyto::core {
namespace {

template <class T>
Scalar whole(const Scalar& number) {
  if (!number.is_floating()) return Scalar(static_cast<T>(number.as_unsigned()));
  return Scalar(
      std::clamp<std::int64_t>(number.as_int(), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// A float that rounds to 16 bits as the number itself would: cut towards zero, the last bit set if anything was lost.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (std::isnan(value) || back == value) return nearest;
  const std::uint32_t beyond = std::abs(back) > std::abs(value) ? 1 : 0;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - beyond) | 1u);
}

// Integers beyond 2^53 likewise keep in their last bit whether anything was lost.
double as_double(const Scalar& number) {
  if (number.is_floating()) return number.as_double();
  if (number.is_large()) {
    const std::uint64_t value = number.as_unsigned();
    return static_cast<double>((value & ~std::uint64_t{0x7ff}) | ((value & 0x7ff) != 0 ? 0x800 : 0));
  }
  const std::int64_t value = number.as_int();
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (value >= -exact && value <= exact) return static_cast<double>(value);
  return static_cast<double>((value & ~std::int64_t{0x7ff}) | ((value & 0x7ff) != 0 ? 0x800 : 0));
}

}  // namespace

Scalar as_stored(const Scalar& number, DType dtype) {
  if (is_complex(dtype)) {
    const auto part = [&](double value) { return as_stored(Scalar(value), real_type(dtype)).as_double(); };
    return Scalar::complex(part(number.as_double()), part(number.imaginary()));
  }
  if (number.is_complex()) {
    const bool truth = dtype == DType::boolean && number.imaginary() != 0;
    return as_stored(truth ? Scalar(true) : Scalar(number.as_double()), dtype);
  }
  switch (dtype) {
    case DType::boolean: return Scalar(number.is_floating() ? number.as_double() != 0 : number.as_int() != 0);
    case DType::u8: return whole<std::uint8_t>(number);
    case DType::i8: return whole<std::int8_t>(number);
    case DType::i16: return whole<std::int16_t>(number);
    case DType::i32: return whole<std::int32_t>(number);
    case DType::u16: return whole<std::uint16_t>(number);
    case DType::u32: return whole<std::uint32_t>(number);
    case DType::i64:
      return Scalar(number.is_floating() ? number.as_int() : static_cast<std::int64_t>(number.as_unsigned()));
    case DType::u64: return Scalar(number.as_unsigned());
    case DType::f16: return Scalar(static_cast<float>(Half(rounded_to_odd(as_double(number)))));
    case DType::bf16: return Scalar(static_cast<float>(BFloat16(rounded_to_odd(as_double(number)))));
    case DType::f32:
      if (number.is_large()) return Scalar(static_cast<float>(number.as_unsigned()));
      return number.is_floating() ? Scalar(static_cast<float>(number.as_double()))
                                  : Scalar(static_cast<float>(number.as_int()));
    default: return Scalar(number.as_double());
  }
}

std::string to_string(const Scalar& number) {
  if (number.is_large()) return text(number.as_unsigned());
  if (!number.is_complex()) return number.is_floating() ? text(number.as_double()) : text(number.as_int());
  return text('(', number.as_double(), std::signbit(number.imaginary()) ? "" : "+", number.imaginary(), "j)");
}

}  // namespace tyto::core
