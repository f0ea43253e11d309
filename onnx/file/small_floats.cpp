// SPDX-License-Identifier: MIT
// Rounding by search among the numbers of a format: exact, whatever the type of what is rounded.
#include "onnx/file/small_floats.hpp"

#include <cmath>
#include <limits>

#include "onnx/file/element_types.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

struct FormatRow {
  std::int64_t element_type;
  SmallFloat format;
};

constexpr FormatRow formats[] = {
    {17, {.exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .finite = 127}},
    {18, {.exponent_bits = 4, .mantissa_bits = 3, .bias = 8, .finite = 128, .has_negative_zero = false}},
    {19, {.exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .finite = 124, .has_infinity = true}},
    {20, {.exponent_bits = 5, .mantissa_bits = 2, .bias = 16, .finite = 128, .has_negative_zero = false}},
    {23, {.exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .finite = 8, .has_nan = false}},
    {24, {.exponent_bits = 8, .mantissa_bits = 0, .bias = 127, .finite = 255, .has_sign = false}},
};

// The number with these bits and no sign, as if there were no infinity and no NaN.
double number_at(const SmallFloat& format, int bits) {
  const int exponent = bits >> format.mantissa_bits;
  const double mantissa = std::ldexp(bits & ((1 << format.mantissa_bits) - 1), -format.mantissa_bits);
  // Without a mantissa and a sign there is no zero.
  if (exponent == 0 && format.has_sign) return std::ldexp(mantissa, 1 - format.bias);
  return std::ldexp(1 + mantissa, exponent - format.bias);
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

template <class E>
Array as_array(const std::vector<double>& numbers) {
  const std::vector<E> elements(numbers.begin(), numbers.end());
  return Array::from(elements, {std::ssize(elements)});
}

/// Rounding thresholds: for each number of the format the least one of type E that is rounded to a larger one.
template <class E>
Array first_above(const SmallFloat& format, RoundingMode mode) {
  std::vector<E> firsts;
  for (int bits = 0; bits < format.finite; ++bits) {
    const double low = number_at(format, bits), high = number_at(format, bits + 1), middle = (low + high) / 2;
    const bool tie_stays = format.mantissa_bits != 0 && bits % 2 == 0;
    if (mode == RoundingMode::down) firsts.push_back(static_cast<E>(high));
    else if (mode == RoundingMode::nearest && !tie_stays) firsts.push_back(static_cast<E>(middle));
    else
      firsts.push_back(
          std::nextafter(static_cast<E>(mode == RoundingMode::up ? low : middle), std::numeric_limits<E>::infinity()));
  }
  return Array::from(firsts, {std::ssize(firsts)});
}

}  // namespace

const SmallFloat* small_float(std::int64_t element_type) {
  for (const FormatRow& row : formats) {
    if (row.element_type == element_type) return &row.format;
  }
  return nullptr;
}

std::vector<float> numbers_of(const SmallFloat& format) {
  std::vector<float> numbers;
  const int without_sign = 1 << (format.exponent_bits + format.mantissa_bits);
  for (int sign = 1; sign >= (format.has_sign ? -1 : 1); sign -= 2) {
    for (int bits = 0; bits < without_sign; ++bits) {
      double number = bits < format.finite ? number_at(format, bits) : not_a_number;
      if (bits == format.finite && format.has_infinity) number = endless;
      if (sign < 0 && bits == 0 && !format.has_negative_zero) number = not_a_number;
      numbers.push_back(static_cast<float>(sign * number));
    }
  }
  return numbers;
}

Array rounded_to(const SmallFloat& format, const Array& x, DType held_as, bool saturate, RoundingMode mode) {
  // Exponents alone reach below the normal numbers of f32; and f64 has all integers that occur.
  const bool wide = !format.has_sign || x.dtype() == DType::f64 || !is_floating(x.dtype());
  const Array exact = cast(x, wide ? DType::f64 : DType::f32);
  std::vector<double> numbers;
  for (int bits = 0; bits < format.finite; ++bits) numbers.push_back(number_at(format, bits));
  numbers.push_back(saturate || !format.has_nan ? numbers.back() : format.has_infinity ? endless : not_a_number);
  const Array firsts = wide ? first_above<double>(format, mode) : first_above<float>(format, mode);
  Array y =
      take(wide ? as_array<double>(numbers) : as_array<float>(numbers), searchsorted(firsts, abs(exact), true), 0);
  if (format.has_sign) y = copysign(y, exact);
  y = where(isnan(exact), format.has_nan ? not_a_number : -0.0, y);
  if (!format.has_negative_zero) y = where(y == 0.0, 0.0, y);
  return cast(y, held_as);
}

}  // namespace tyto::onnx
