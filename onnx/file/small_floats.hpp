// SPDX-License-Identifier: MIT
// Floating-point numbers of 8 and 4 bits, in which models store what they compute with others: held as f16, which has
// all of them, or as f32 where only the exponent is stored.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx/file/operand.hpp"

namespace tyto::onnx {

/// A format, whose numbers above zero count up with their bits.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  int finite;  // numbers from zero on, up to the largest
  bool has_sign = true;
  bool has_infinity = false;  // else what is too large is NaN, where there is one
  bool has_nan = true;
  bool has_negative_zero = true;

  int bits() const { return exponent_bits + mantissa_bits + (has_sign ? 1 : 0); }
};

/// Null for types that are none of these.
const SmallFloat* small_float(std::int64_t element_type);

/// The number of each pattern of bits.
std::vector<float> numbers_of(const SmallFloat& format);

enum class RoundingMode : std::uint8_t { nearest, up, down };

/// The nearest number of the format to each element, of two the one whose last bit is zero; `mode` is for formats of
/// exponents alone, in which ties go up. Too large numbers become the largest one where `saturate`; NaN is zero where
/// the format has none.
Array rounded_to(const SmallFloat& format, const Array& x, DType held_as, bool saturate,
                 RoundingMode mode = RoundingMode::nearest);

}  // namespace tyto::onnx
