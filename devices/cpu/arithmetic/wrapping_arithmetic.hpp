// SPDX-License-Identifier: MIT
// Sums of products of integers, wrapping round in their own type, and of booleans, as any of and.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tyto/dtype.hpp>

#include "core/value/element_types.hpp"

namespace tyto::cpu {

/// Arithmetic modulo 2^bits: done unsigned, where wrapping round is defined.
template <class T>
struct WrappingArithmetic {
  using Element = T;
  using Unsigned = std::make_unsigned_t<T>;
  // Narrow factors would be promoted to int, whose product may overflow; a 64-bit one is cut as needed.
  static T plus_product(T sum, T x, T y) noexcept {
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Wide>(sum) + static_cast<Wide>(x) * static_cast<Wide>(y)));
  }
  static T plus(T x, T y) noexcept { return plus_product(x, y, T(1)); }
};

template <>
struct WrappingArithmetic<bool> {
  using Element = bool;
  static bool plus_product(bool sum, bool x, bool y) noexcept { return sum | (x & y); }
  static bool plus(bool x, bool y) noexcept { return x | y; }
};

/// Calls with<T>() for the C++ type of an integer or boolean type.
template <class With>
auto with_integer_type(DType type, const With& with) {
  return core::with_element_type(
      type, [&]<class E>() { return with.template operator()<std::conditional_t<std::is_integral_v<E>, E, bool>>(); });
}

}  // namespace tyto::cpu
