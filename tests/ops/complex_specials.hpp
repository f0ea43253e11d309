// SPDX-License-Identifier: MIT
// Complex functions at zeros, infinities, NaN and the ends of their range, against C's tables and true values.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "tyto/complex.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/tensor.hpp"

namespace complex_specials {

using namespace tyto;
using C128 = std::complex<double>;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// A part of an expected result; of Some the sign is open.
struct Part {
  double value = 0;
  bool is_some = false;
  constexpr Part(double number) : value(number) {}
  constexpr Part(double number, bool some) : value(number), is_some(some) {}
};
constexpr Part Some(double size) { return {size, true}; }
constexpr Part some_zero = Some(0), some_infinity = Some(infinity);

struct Expected {
  Part real, imaginary;
};
constexpr double parts[] = {-infinity, -2, -0.0, 0, 2, infinity, nan};
struct SpecialRow {
  const char* name;
  double real;
  Expected results[std::size(parts)];  // for each imaginary part
};
struct Point {
  double real, imaginary;
};
struct TrueValue {
  const char* name;
  Point z, result;
};
#include "tests/ops/complex_specials.inc"

template <class T>
struct Function {
  const char* name;
  T (*apply)(const T&);
};
template <class T>
const std::vector<Function<T>>& functions() {
#define TYTO_FUNCTION(name)                         \
  Function<T> {                                     \
#name, [](const T& z) { return tyto::name(z); } \
  }
  static const std::vector<Function<T>> all = {
      TYTO_FUNCTION(exp),    TYTO_FUNCTION(expm1),      TYTO_FUNCTION(log),   TYTO_FUNCTION(log2),
      TYTO_FUNCTION(log10),  TYTO_FUNCTION(log1p),      TYTO_FUNCTION(sqrt),  TYTO_FUNCTION(rsqrt),
      TYTO_FUNCTION(sin),    TYTO_FUNCTION(cos),        TYTO_FUNCTION(tan),   TYTO_FUNCTION(asin),
      TYTO_FUNCTION(acos),   TYTO_FUNCTION(atan),       TYTO_FUNCTION(sinh),  TYTO_FUNCTION(cosh),
      TYTO_FUNCTION(tanh),   TYTO_FUNCTION(asinh),      TYTO_FUNCTION(acosh), TYTO_FUNCTION(atanh),
      TYTO_FUNCTION(square), TYTO_FUNCTION(reciprocal), TYTO_FUNCTION(sign),
  };
#undef TYTO_FUNCTION
  return all;
}

inline bool is_equal(double found, const Part& expected, double close) {
  if (std::isnan(expected.value)) return std::isnan(found);
  if (!expected.is_some && std::signbit(found) != std::signbit(expected.value)) return false;
  const double size = std::abs(found), right = std::abs(expected.value);
  return size == right || std::abs(size - right) <= close * right;
}

constexpr std::int64_t most_points = 24;

/// All operands are of one length, so that a device compiles one kernel for them.
template <class T>
std::vector<C128> results(const Function<T>& function, std::vector<C128> z, DType type) {
  const std::size_t count = z.size();
  z.resize(std::size_t{most_points}, 1);
  std::vector<C128> found =
      function.apply(T::from(z, {most_points}).astype(type)).astype(DType::c128).template to_vector<C128>();
  found.resize(count);
  return found;
}

/// Every function at zeros, infinities and NaN in this type.
template <class T>
void check_special_values(DType type) {
  const double close = type == DType::c64 ? 4e-7 : 1e-15;
  for (const Function<T>& function : functions<T>()) {
    CAPTURE(std::string(function.name));
    for (const SpecialRow& row : special_rows) {
      if (std::string(row.name) != function.name) continue;
      std::vector<C128> z;
      for (const double imaginary : parts) z.emplace_back(row.real, imaginary);
      const std::vector<C128> found = results(function, z, type);
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(z[i]);
        CAPTURE(found[i]);
        CHECK(is_equal(found[i].real(), row.results[i].real, close));
        CHECK(is_equal(found[i].imag(), row.results[i].imaginary, close));
      }
    }
  }
}

/// Every function next to the smallest and the largest numbers of this type.
template <class T>
void check_ends_of_range(DType type) {
  const bool single = type == DType::c64;
  const double close = single ? 6e-7 : 1e-15;
  const std::vector<TrueValue> ends = single ? std::vector(std::begin(ends_of_c64), std::end(ends_of_c64))
                                             : std::vector(std::begin(ends_of_c128), std::end(ends_of_c128));
  for (const Function<T>& function : functions<T>()) {
    CAPTURE(std::string(function.name));
    std::vector<C128> z, expected;
    for (const TrueValue& each : ends) {
      if (std::string(each.name) != function.name) continue;
      z.emplace_back(each.z.real, each.z.imaginary);
      expected.emplace_back(each.result.real, each.result.imaginary);
    }
    REQUIRE(!z.empty());
    REQUIRE(z.size() <= std::size_t{most_points});
    const std::vector<C128> found = results(function, z, type);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(z[i]);
      CAPTURE(found[i]);
      // By the larger part, since squares of the parts may have no number.
      const double size = std::max(std::abs(expected[i].real()), std::abs(expected[i].imag()));
      CHECK(std::abs(found[i].real() / size - expected[i].real() / size) <= close);
      CHECK(std::abs(found[i].imag() / size - expected[i].imag() / size) <= close);
    }
  }
}

}  // namespace complex_specials
