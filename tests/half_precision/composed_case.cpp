// SPDX-License-Identifier: MIT
// Draws the operands of a composed function and compares its results in half precision with those in f64.
#include "tests/half_precision/composed_case.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/numbers.hpp"

namespace half_precision {

namespace {

using tyto_test::Numbers;
using tyto_test::numbers;

struct Format {
  int digits, least_exponent;
  double largest;
};
Format format_of(DType dtype) {
  if (dtype == DType::f16) return {11, -24, 65504};
  if (dtype == DType::bf16) return {8, -133, std::ldexp(255, 120)};
  return {24, -149, static_cast<double>(std::numeric_limits<float>::max())};
}

/// The distance of neighbours of a number in a type.
double spacing(double number, const Format& format) {
  if (number == 0 || !std::isfinite(number)) return std::ldexp(1, format.least_exponent);
  return std::ldexp(1, std::max(std::ilogb(number) - format.digits + 1, format.least_exponent));
}

/// One value that was found, in units of what it may be off by.
double distance(double found, double expected, double allowed, const Format& format) {
  if (std::isnan(expected)) return std::isnan(found) ? 0 : 1e9;
  const double off = std::min(std::abs(expected) + allowed, std::numeric_limits<double>::max());
  // Beyond the last number, or so near its end that either is right.
  if (std::isinf(found) && off > format.largest) return std::signbit(found) == std::signbit(expected) ? 0 : 1e9;
  if (std::isinf(expected)) return 1e9;
  return std::isfinite(found) ? std::abs(found - expected) / allowed : 1e9;
}

void compare(const std::string& what, const Numbers& found, DType dtype, const Numbers& expected, double condition) {
  REQUIRE(found.size() == expected.size());
  const Format format = format_of(dtype);
  double largest = 0;
  for (const double each : expected) largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : largest;
  std::size_t worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double allowed = 0.5 * spacing(expected[i], format) + condition * 0x1p-24 * largest;
    const double off = distance(found[i], expected[i], allowed, format);
    if (off > most) std::tie(most, worst) = std::pair(off, i);
  }
  if (found.empty()) return;
  CAPTURE(what);
  CAPTURE(worst);
  CAPTURE(found[worst]);
  CAPTURE(expected[worst]);
  CHECK(most <= 1);
}

/// The value of `f` at `inputs` and its derivatives up to `order` by those of floating-point types.
template <class M>
std::vector<Tensor<M>> derivatives(const Function<M>& f, const std::vector<Tensor<M>>& inputs, int order,
                                   const std::vector<Tensor<M>>& weights) {
  std::vector<Tensor<M>> floating;
  for (const Tensor<M>& input : inputs) {
    if (is_floating(input.dtype())) floating.push_back(input);
  }
  const auto of_floating = [&](const std::vector<Tensor<M>>& given) {
    std::vector<Tensor<M>> all = inputs;
    auto next = given.begin();
    for (Tensor<M>& each : all) {
      if (is_floating(each.dtype())) each = *next++;
    }
    return f(all);
  };
  if (order == 0) return {of_floating(floating)};
  if (order == 1) {
    auto [value, gradients] = vjp(of_floating, floating, weights[0]);
    return gradients;
  }
  const auto gradient = [&](const std::vector<Tensor<M>>& given) {
    return vjp(of_floating, given, weights[0]).second[0];
  };
  return vjp(gradient, floating, weights[1]).second;
}

Numbers drawn(const Operand& operand, double scale, std::mt19937& random) {
  Numbers out(static_cast<std::size_t>(element_count(operand.shape)));
  for (double& each : out) {
    if (operand.classes != 0) {
      each = static_cast<double>(random() % static_cast<std::uint32_t>(operand.classes));
    } else {
      const double share = static_cast<double>(random()) / 4294967296.0;
      each = (operand.low + share * (operand.high - operand.low)) * (operand.scaled ? scale : 1);
    }
  }
  return out;
}

template <class M>
void check_in(const Case& function, const Function<M>& f, DType half, double scale) {
  std::mt19937 random(std::accumulate(function.name.begin(), function.name.end(), 0u));
  std::vector<Tensor<M>> inputs;
  std::vector<Tensor<Eager>> exact;
  const auto add = [&](const Numbers& elements, const Shape& shape, DType type, auto& halves, auto& wide) {
    const Tensor<Eager> rounded = Tensor<Eager>::from(elements, shape).astype(type);
    wide.push_back(is_floating(type) ? rounded.astype(DType::f64) : rounded);
    halves.push_back(Tensor<M>::from(elements, shape).astype(type));
  };
  for (const Operand& operand : function.operands) {
    add(drawn(operand, scale, random), operand.shape, operand.classes != 0 ? DType::i64 : half, inputs, exact);
  }
  const Tensor<M> value = f(inputs);
  CHECK((value.dtype() == half || value.dtype() == DType::f32));
  std::vector<Tensor<M>> weights;
  std::vector<Tensor<Eager>> exact_weights;
  const auto weigh = [&](const Shape& shape) {
    add(drawn(between(0.5, 1.5, shape), 1, random), shape, half, weights, exact_weights);
  };
  weigh(value.shape());
  weigh(std::find_if(inputs.begin(), inputs.end(), [](const auto& x) { return is_floating(x.dtype()); })->shape());
  for (Tensor<M>& each : weights) each = &each == &weights[0] ? each.astype(value.dtype()) : each;
  for (int order = 0; order <= function.terms.derivatives; ++order) {
    const auto found = derivatives<M>(f, inputs, order, weights);
    const auto expected = derivatives<Eager>(function.eager, exact, order, exact_weights);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (order > 0) CHECK(found[i].dtype() == half);
      const std::string what = order == 0   ? "value"
                               : order == 1 ? "gradient " + std::to_string(i)
                                            : "gradient of gradient " + std::to_string(i);
      compare(what, numbers(found[i]), found[i].dtype(), numbers(expected[i]), function.terms.condition);
    }
  }
}

}  // namespace

void check(const Case& function) {
  CAPTURE(function.name);
  for (const DType half : {DType::f16, DType::bf16}) {
    const std::string type(name_of(half));
    CAPTURE(type);
    for (const double scale : function.terms.scales) {
      CAPTURE(scale);
      try {
        check_in<Eager>(function, function.eager, half, scale);
        check_in<Lazy>(function, function.lazy, half, scale);
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

}  // namespace half_precision
