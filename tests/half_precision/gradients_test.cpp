// SPDX-License-Identifier: MIT
// Gradients of single operators that are made of several: those that read no rounded result, and those that do.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/half_precision/composed_case.hpp"
#include "tests/support/numbers.hpp"

namespace half_precision {

TEST_CASE("gradients of element-wise operators round to half precision once") {
  const Shape s{24};
  const Terms first{.condition = 256, .scales = {1, 300, 60000, 1e-4}, .derivatives = 1};
  const Terms middle{.condition = 1024, .scales = {1}, .derivatives = 1};
  const std::vector<Case> cases{
      of(
          "asinh", {any(s)}, [](const auto& x) { return asinh(x[0]); }, first),
      of(
          "atan", {any(s)}, [](const auto& x) { return atan(x[0]); }, first),
      of(
          "softsign", {any(s)}, [](const auto& x) { return softsign(x[0]); }, first),
      of(
          "log", {positive(s)}, [](const auto& x) { return log(x[0]); }, first),
      of(
          "log2", {positive(s)}, [](const auto& x) { return log2(x[0]); }, first),
      of(
          "log10", {positive(s)}, [](const auto& x) { return log10(x[0]); }, first),
      of(
          "log1p", {positive(s)}, [](const auto& x) { return log1p(x[0]); }, first),
      of(
          "softplus", {any(s)}, [](const auto& x) { return softplus(x[0]); }, first),
      of(
          "log_sigmoid", {any(s)}, [](const auto& x) { return log_sigmoid(x[0]); }, first),
      of(
          "logaddexp", {any(s), any(s)}, [](const auto& x) { return logaddexp(x[0], x[1]); }, first),
      of(
          "atan2", {any(s), any(s)}, [](const auto& x) { return atan2(x[0], x[1]); }, first),
      of(
          "gelu", {between(-4, 4, s)}, [](const auto& x) { return gelu(x[0]); }, middle),
      of(
          "silu", {between(-9, 9, s)}, [](const auto& x) { return silu(x[0]); }, middle),
      of(
          "sin", {between(-9, 9, s)}, [](const auto& x) { return sin(x[0]); }, middle),
      of(
          "asin", {between(-0.98, 0.98, s)}, [](const auto& x) { return asin(x[0]); }, middle),
      of(
          "acos", {between(-0.98, 0.98, s)}, [](const auto& x) { return acos(x[0]); }, middle),
      of(
          "acosh", {between(1.1, 300, s)}, [](const auto& x) { return acosh(x[0]); }, middle),
      of(
          "atanh", {between(-0.98, 0.98, s)}, [](const auto& x) { return atanh(x[0]); }, middle),
      of(
          "erf", {between(-3, 3, s)}, [](const auto& x) { return erf(x[0]); }, middle),
      of(
          "lgamma", {between(0.2, 300, s)}, [](const auto& x) { return lgamma(x[0]); }, middle),
      of(
          "power", {between(0.3, 30, s)}, [](const auto& x) { return power(x[0], 2.5); }, middle),
  };
  for (const Case& each : cases) check(each);
}

namespace {

using tyto_test::Numbers;
using tyto_test::numbers;

struct HalfFormat {
  DType dtype;
  int digits, least_exponent;
  double unit() const { return std::ldexp(1, -digits); }  // the largest error of rounding, over the number
  double half_spacing(double number) const {
    return std::ldexp(0.5, std::max(std::ilogb(std::max(std::abs(number), 1e-300)) - digits + 1, least_exponent));
  }
};
constexpr HalfFormat formats[] = {{DType::f16, 11, -24}, {DType::bf16, 8, -133}};

/// A tape keeps results as they are, in half precision: y (1 + d) for y, where |d| is at most one unit of rounding. The
/// gradient is then off by what it changes with y, times y d, and by its own rounding; the last terms are what is of
/// second order in d, and the roundings of f32.
void check_near(double found, double exact, double by_result, const HalfFormat& format) {
  const double u = format.unit(), off = by_result * u * (1 + 2 * u) + 4 * u * u * std::abs(exact);
  CAPTURE(exact);
  CAPTURE(found);
  CHECK(std::abs(found - exact) <= off + format.half_spacing(std::abs(exact) + off) + 0x1p-21 * std::abs(exact));
}

struct ByResult {
  const char* name;
  double low, high;
  Tensor<Any> (*function)(const Tensor<Any>&);
  double (*result)(double x);
  double (*gradient)(double y);
  double (*change)(double y);  // |y d gradient / d y|
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

const ByResult by_results[] = {
    {"tanh", -4, 4, [](const Tensor<Any>& x) { return tanh(x); }, [](double x) { return std::tanh(x); },
     [](double y) { return 1 - y * y; }, [](double y) { return 2 * y * y; }},
    {"sigmoid", -7, 7, [](const Tensor<Any>& x) { return sigmoid(x); }, sigmoid_of,
     [](double y) { return y * (1 - y); }, [](double y) { return std::abs(y * (1 - 2 * y)); }},
    {"exp", -7, 7, [](const Tensor<Any>& x) { return exp(x); }, [](double x) { return std::exp(x); },
     [](double y) { return y; }, [](double y) { return y; }},
    {"expm1", -3, 7, [](const Tensor<Any>& x) { return expm1(x); }, [](double x) { return std::expm1(x); },
     [](double y) { return y + 1; }, [](double y) { return std::abs(y); }},
    {"sqrt", 0.01, 900, [](const Tensor<Any>& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); },
     [](double y) { return 0.5 / y; }, [](double y) { return 0.5 / y; }},
    {"cbrt", 0.01, 900, [](const Tensor<Any>& x) { return cbrt(x); }, [](double x) { return std::cbrt(x); },
     [](double y) { return 1 / (3 * y * y); }, [](double y) { return 2 / (3 * y * y); }},
    {"reciprocal", 0.1, 9, [](const Tensor<Any>& x) { return reciprocal(x); }, [](double x) { return 1 / x; },
     [](double y) { return -y * y; }, [](double y) { return 2 * y * y; }},
};

}  // namespace

TEST_CASE_TEMPLATE("gradients that read a rounded result are off by what that rounding changes", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const HalfFormat& format : formats) {
    for (const ByResult& each : by_results) {
      CAPTURE(std::string(each.name));
      const T x = T::linspace(each.low, each.high, 61).astype(format.dtype);
      const Numbers found =
          numbers(grad([&](const T& v) { return sum(T(each.function(Tensor<Any>(v.value())).value())); })(x));
      const Numbers at = numbers(x);
      for (std::size_t i = 0; i < at.size(); ++i) {
        const double y = each.result(at[i]);
        check_near(found[i], each.gradient(y), each.change(y), format);
      }
    }
  }
}

// Of softmax y the gradient is y_i (g_i - s) with s = sum g_j y_j, of log_softmax l it is g_i - exp(l_i) sum g_j.
TEST_CASE_TEMPLATE("gradients of softmax are off by what the rounding of its result changes", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const HalfFormat& format : formats) {
    for (const double scale : {1.0, 6.0}) {
      const T x = (T{{0.3, -1.1, 0.8, -0.2}, {1.2, 1.1, -1.5, 0.0}} * scale).astype(format.dtype);
      const T g = T{{0.5, -2.0, 1.25, 3.0}, {1.0, 1.0, -4.0, 0.25}}.astype(format.dtype);
      const Numbers at = numbers(x), weights = numbers(g);
      const auto gradients_of = [&](auto f) { return vjp(f, std::vector{x}, g).second[0]; };
      const Numbers found = numbers(gradients_of([](const std::vector<T>& v) { return softmax(v[0], -1); }));
      const Numbers of_logarithm = numbers(gradients_of([](const std::vector<T>& v) { return log_softmax(v[0], -1); }));
      for (std::size_t row = 0; row < 8; row += 4) {
        double total = 0, mean = 0, spread = 0, sum_of_weights = 0;
        for (std::size_t i = row; i < row + 4; ++i) total += std::exp(at[i]);
        for (std::size_t i = row; i < row + 4; ++i) {
          const double y = std::exp(at[i]) / total;
          mean += weights[i] * y;
          spread += std::abs(weights[i]) * y;
          sum_of_weights += weights[i];
        }
        for (std::size_t i = row; i < row + 4; ++i) {
          const double y = std::exp(at[i]) / total;
          CAPTURE(i);
          check_near(found[i], y * (weights[i] - mean), y * (std::abs(weights[i] - mean) + spread), format);
          check_near(of_logarithm[i], weights[i] - y * sum_of_weights, y * std::abs(std::log(y) * sum_of_weights),
                     format);
        }
      }
    }
  }
}

}  // namespace half_precision
