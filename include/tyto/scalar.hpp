// SPDX-License-Identifier: MIT
// A number that has a kind (bool, integer, floating, complex) but no fixed width, so that it never widens a tensor.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tyto/dtype.hpp"
#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A weakly typed number: `f16_tensor * 2.0` stays f16.
class Scalar {
 public:
  /// The kind of a number, whatever its width.
  enum class Kind : std::uint8_t { boolean, integer, floating, complex };

  constexpr Scalar() : Scalar(0.0) {}
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::boolean;
      integer_ = value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::integer;
      integer_ = static_cast<std::int64_t>(value);
      is_large_ = value > 0 && integer_ < 0;
    } else {
      kind_ = Kind::floating;
      floating_ = static_cast<double>(value);
    }
  }

  template <ComplexNumber T>
  constexpr Scalar(const T& value)
      : kind_(Kind::complex),
        floating_(static_cast<double>(value.real())),
        imaginary_(static_cast<double>(value.imag())) {}
  /// A complex number by its parts.
  static constexpr Scalar complex(double real, double imaginary) {
    Scalar out(real);
    out.kind_ = Kind::complex;
    out.imaginary_ = imaginary;
    return out;
  }

  /// The kind of number.
  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating() const { return kind_ == Kind::floating; }
  constexpr bool is_complex() const { return kind_ == Kind::complex; }
  /// An integer from 2^63 on, which u64 alone holds.
  constexpr bool is_large() const { return is_large_; }
  /// The number as a double; the real part of a complex one.
  constexpr double as_double() const {
    if (has_fraction()) return floating_;
    return is_large_ ? static_cast<double>(static_cast<std::uint64_t>(integer_)) : static_cast<double>(integer_);
  }
  /// The imaginary part; 0 of a real number.
  constexpr double imaginary() const { return imaginary_; }
  /// Truncates towards zero; saturates where the value does not fit; NaN gives 0.
  constexpr std::int64_t as_int() const {
    if (!has_fraction()) return is_large_ ? INT64_MAX : integer_;
    if (floating_ >= 9223372036854775808.0) return INT64_MAX;
    if (floating_ < -9223372036854775808.0) return INT64_MIN;
    return floating_ == floating_ ? static_cast<std::int64_t>(floating_) : 0;
  }
  /// As an element of u64: negative integers wrap round, what has a fraction is truncated and saturates.
  constexpr std::uint64_t as_unsigned() const {
    if (!has_fraction()) return static_cast<std::uint64_t>(integer_);
    if (floating_ >= 18446744073709551616.0) return UINT64_MAX;
    return floating_ > 0 ? static_cast<std::uint64_t>(floating_) : 0;
  }
  /// The element type a lone scalar takes: bool, i64, f32 or c64, and u64 where i64 does not hold it.
  constexpr DType default_dtype() const {
    if (is_large_) return DType::u64;
    constexpr DType types[] = {DType::boolean, DType::i64, DType::f32, DType::c64};
    return types[static_cast<int>(kind_)];
  }
  /// `float f = x.item();`: the number in any type that holds it, floating-point numbers rounded; TypeError otherwise,
  /// as for 2.5 read as int.
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr operator T() const {
    if (imaginary_ != 0) refuse_conversion();
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(as_double());
    } else {
      constexpr bool holds_large = std::is_unsigned_v<T> && sizeof(T) == sizeof(std::uint64_t);
      if (is_large_ && !holds_large) refuse_conversion();
      if (is_large_) return static_cast<T>(as_unsigned());
      const std::int64_t whole = as_int();
      if (has_fraction() && (static_cast<double>(whole) != floating_ || floating_ == 9223372036854775808.0)) {
        refuse_conversion();
      }
      const T value = static_cast<T>(whole);
      if (static_cast<std::int64_t>(value) != whole || (std::is_unsigned_v<T> && whole < 0)) refuse_conversion();
      return value;
    }
  }
  /// As numbers, whatever their kinds: `x.item() == 2` where x holds 2.0. NaN equals nothing.
  template <class T>
  requires std::is_arithmetic_v<T>
  friend constexpr bool operator==(const Scalar& a, T b) { return a == Scalar(b); }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    if (a.imaginary_ != b.imaginary_) return false;
    if (a.has_fraction() && b.has_fraction()) return a.floating_ == b.floating_;
    if (!a.has_fraction() && !b.has_fraction()) return a.integer_ == b.integer_ && a.is_large_ == b.is_large_;
    const Scalar& whole = a.has_fraction() ? b : a;
    const double other = a.has_fraction() ? a.floating_ : b.floating_;
    // An integer beyond 2^53 may round to `other` without being it.
    if (whole.as_double() != other || other == (whole.is_large_ ? 0x1p64 : 0x1p63)) return false;
    return whole.is_large_ ? Scalar(other).as_unsigned() == whole.as_unsigned()
                           : Scalar(other).as_int() == whole.integer_;
  }
  /// Whether kind and bits are the same: 0.0 and -0.0 differ, since folding must keep signs; a NaN equals itself.
  friend constexpr bool is_same(const Scalar& a, const Scalar& b) {
    if (a.kind_ != b.kind_) return false;
    if (!a.has_fraction()) return a.integer_ == b.integer_ && a.is_large_ == b.is_large_;
    return std::bit_cast<std::uint64_t>(a.floating_) == std::bit_cast<std::uint64_t>(b.floating_) &&
           std::bit_cast<std::uint64_t>(a.imaginary_) == std::bit_cast<std::uint64_t>(b.imaginary_);
  }

 private:
  [[noreturn]] void refuse_conversion() const;
  constexpr bool has_fraction() const { return kind_ >= Kind::floating; }

  Kind kind_;
  bool is_large_ = false;  // the integer's bits are those of an unsigned one
  union {
    std::int64_t integer_;
    double floating_;
  };
  double imaginary_ = 0;
};

}  // namespace TYTO_API
