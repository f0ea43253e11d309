// SPDX-License-Identifier: MIT
// Limits of floating-point element types, computed from the widths of their mantissas and exponents.
#pragma once

#include <cmath>

#include "tyto/dtype.hpp"

namespace tyto::core {

struct FloatingFormat {
  int digits;    ///< of the mantissa, the leading one included
  int exponent;  ///< all finite numbers are below 2 to its power
  double largest() const { return std::ldexp(1.0 - std::ldexp(1.0, -digits), exponent); }
  double smallest_normal() const { return std::ldexp(1.0, 2 - exponent); }
  /// The distance from 1 to the next larger number.
  double epsilon() const { return std::ldexp(1.0, 1 - digits); }
  /// The least number above zero is 2 to its power.
  int least_exponent() const { return 3 - exponent - digits; }
};

/// The format of a floating-point element type.
constexpr FloatingFormat format_of(DType floating) {
  switch (floating) {
    case DType::f16: return {11, 16};
    case DType::bf16: return {8, 128};
    case DType::f32: return {24, 128};
    default: return {53, 1024};
  }
}

}  // namespace tyto::core
