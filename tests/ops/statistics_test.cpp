// SPDX-License-Identifier: MIT
// Median and quantiles against what NumPy's give.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/fft.hpp"
#include "tyto/polynomials.hpp"
#include "tyto/reduce.hpp"
#include "tyto/special.hpp"
#include "tyto/statistics.hpp"

using tyto::DType;
using tyto::grad;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("quantiles lie in a straight line between neighbours") {
  using T = tyto::Tensor<Mode>;
  const T x = T{{4.0, 1.0, 7.0}, {2.0, 9.0, 3.0}};
  CHECK(numbers(quantile(x, 0, 1)) == Numbers{1, 2});
  CHECK(numbers(quantile(x, 0.5, 1)) == Numbers{4, 3});
  CHECK(numbers(quantile(x, 1, 1)) == Numbers{7, 9});
  CHECK(numbers(quantile(x, 0.25, 0)) == Numbers{2.5, 3, 4});
  CHECK(numbers(quantile(x, 0.5)) == Numbers{3.5});
  CHECK(quantile(x, 0.5, {0, 1}, true).shape() == tyto::Shape{1, 1});
  CHECK(quantile(x, 0.5, -2, true).shape() == tyto::Shape{1, 3});
  CHECK(std::abs(quantile(x.astype(DType::f64), 0.3, 1)(0).template item<double>() - 2.8) < 1e-15);
  CHECK(std::abs(quantile(x.astype(DType::f64), 0.9, 1)(1).template item<double>() - 7.8) < 1e-14);
}

BOTH_MODES("the median is the middle, or the mean of the two in the middle") {
  using T = tyto::Tensor<Mode>;
  CHECK(numbers(median(T{3, 1, 2, 10})) == Numbers{2.5});
  CHECK(median(T{1, 2, 4}).dtype() == DType::f32);
  CHECK(numbers(median(T{1, 2, 4}.astype(DType::u8))) == Numbers{2});
  CHECK(numbers(median(T(3.0))) == Numbers{3});
  CHECK(numbers(median(T::arange(24).reshape({2, 3, 4}), {0, 2})) == Numbers{7.5, 11.5, 15.5});
  CHECK(median(T::zeros({0, 3}), 1).shape() == tyto::Shape{0});
  CHECK(numbers(median(T{1.0, 2.0, 4.0, 8.0}.astype(DType::f16))) == Numbers{3});
}

BOTH_MODES("NaN makes a quantile NaN, and infinite neighbours do not") {
  using T = tyto::Tensor<Mode>;
  CHECK(std::isnan(median(T{1.0, NAN, 2.0}).template item<float>()));
  CHECK(numbers(quantile(T{INFINITY, 1.0, INFINITY}, 0.75)) == Numbers{INFINITY});
  CHECK(numbers(quantile(T{1.0, INFINITY}, 0.25)) == Numbers{INFINITY});
  CHECK(numbers(quantile(T{1.0, INFINITY}, 0)) == Numbers{1});
  CHECK(numbers(quantile(T{1.0, 2.0, INFINITY}, 0.75)) == Numbers{INFINITY});
  CHECK(numbers(quantile(T{-INFINITY, 5.0, 6.0}, 0.125)) == Numbers{-INFINITY});
}

BOTH_MODES("neighbours whose distance is out of range have a middle") {
  using T = tyto::Tensor<Mode>;
  CHECK(numbers(median(T{-40000.0, 40000.0}.astype(DType::f16))) == Numbers{0});
  CHECK(numbers(median(T{3e38, -3e38})) == Numbers{0});
  CHECK(numbers(quantile(T{-0x1p127, 0x1p127}, 0.25)) == Numbers{-0x1p126});
}

BOTH_MODES("a quantile's gradient goes to the neighbours that it lies between") {
  using T = tyto::Tensor<Mode>;
  const T x = T{4.0, 1.0, 7.0, 2.0};
  CHECK(numbers(tyto::grad([](const T& v) { return median(v); })(x)) == Numbers{0.5, 0, 0, 0.5});
  CHECK(numbers(tyto::grad([](const T& v) { return quantile(v, 0.75); })(x)) == Numbers{0.75, 0, 0.25, 0});
}

BOTH_MODES("quantiles of nothing, and of no part, are refused") {
  using T = tyto::Tensor<Mode>;
  CHECK_THROWS_WITH_AS(median(T::zeros({0, 3}), 0),
                       "median: axes (0,) of shape (0,3) are empty, so nothing is there to order", tyto::ShapeError);
  CHECK_THROWS_WITH_AS(quantile(T{1.0}, 1.5), "quantile: q = 1.5 is outside [0, 1]", tyto::ValueError);
  CHECK_THROWS_AS(quantile(T{1.0}, NAN), tyto::ValueError);
}

BOTH_MODES("linspace ends where it is told to, and rounds integers down") {
  using T = tyto::Tensor<Mode>;
  const std::vector<double> unit = T::linspace(0, 1, 50, DType::f64).template to_vector<double>();
  CHECK(unit.back() == 1);
  CHECK(unit[1] == 1.0 / 49);
  CHECK(numbers(T::linspace(-10, -8, 4, DType::i64)) == Numbers{-10, -10, -9, -8});
  CHECK(numbers(T::linspace(-4.2, -8, 2, DType::i32)) == Numbers{-5, -8});
  CHECK(T::linspace(0, 1, 1, DType::f64).template to_vector<double>() == std::vector<double>{0});
}

BOTH_MODES("sums of neighbours are those of each window, whatever its width and type") {
  using T = tyto::Tensor<Mode>;
  std::vector<std::int64_t> numbers(60);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i * i % 97) - 40;
  const auto length = static_cast<std::int64_t>(numbers.size());
  const T x = T::from(numbers, {length});
  for (const std::int64_t before : {0, 1, 7, 8, 15, 31, 100}) {
    for (const std::int64_t after : {0, 1, 8, 16, 37, 59}) {
      std::vector<std::int64_t> expected(numbers.size());
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = std::max<std::int64_t>(i - before, 0); j <= std::min(i + after, length - 1); ++j) {
          expected[static_cast<std::size_t>(i)] += numbers[static_cast<std::size_t>(j)];
        }
      }
      CAPTURE(before);
      CAPTURE(after);
      CHECK(moving_sum(x, before, after).template to_vector<std::int64_t>() == expected);
    }
  }
  const T ones = T::ones({4096}, DType::bf16);
  CHECK(moving_sum(ones, 4095, 0)(-1).template item<float>() == 4096);
  CHECK(moving_sum(ones, 4095, 0).dtype() == DType::bf16);
}

BOTH_MODES("a median between two equal numbers has the gradient of their mean") {
  using T = tyto::Tensor<Mode>;
  const T x = T{1.0, 2.0, 2.0, 3.0}.astype(DType::f64);
  const Numbers halves{0, 0.5, 0.5, 0};
  CHECK(numbers(grad([](const T& v) { return median(v); })(x)) == halves);
  CHECK(numbers(grad([](const T& v) { return nanmedian(v); })(x)) == halves);
  CHECK(numbers(grad([](const T& v) { return quantile(v, 0.5); })(x)) == halves);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(median(T{1.0, infinity, infinity, infinity}).template item<double>() == infinity);
}

BOTH_MODES("fractions have the gradient 1 and the sign of their number, also where there is none") {
  using T = tyto::Tensor<Mode>;
  const T x = T{-2.0, -0.25, 0.0, 0.5, 1.0}.astype(DType::f64);
  CHECK(numbers(grad([](const T& v) { return sum(modf(v).first); })(x)) == Numbers{1, 1, 1, 1, 1});
  CHECK(numbers(modf(x).first) == Numbers{0, -0.25, 0, 0.5, 0});
  CHECK(numbers(signbit(modf(x).first)) == Numbers{1, 1, 0, 0, 0});
}

BOTH_MODES("derivatives and integrals of complex polynomials have complex coefficients") {
  using T = tyto::Tensor<Mode>;
  const T p = complex(T{1.0, 3.0, 5.0}, T{2.0, -1.0, 0.0});  // (1 + 2i) x^2 + (3 - i) x + 5
  CHECK(numbers(real(polyder(p))) == Numbers{2, 3});
  CHECK(numbers(imag(polyder(p))) == Numbers{4, -1});
  CHECK(numbers(real(polyint(p * 6, 2.0))) == Numbers{2, 9, 30, 2});
  CHECK(numbers(imag(polyint(p * 6, 2.0))) == Numbers{4, -3, 0, 0});
}

BOTH_MODES("a variance of complex numbers without freedom is infinite, also where one part does not vary") {
  using T = tyto::Tensor<Mode>;
  const T line = complex(T{1.0, 3.0}, T{0.0, 0.0});
  CHECK(var(line, {}, false, 0).template item<float>() == 1);
  CHECK(var(line, {}, false, 1).template item<float>() == 2);
  CHECK(std::isinf(var(line, {}, false, 2).template item<float>()));
  CHECK(std::isinf(stddev(line, {}, false, 3).template item<float>()));
  CHECK(std::isnan(var(complex(T{1.0, 1.0}, T{2.0, 2.0}), {}, false, 2).template item<float>()));
}

BOTH_MODES("integers are convolved by transforms as precisely as what they meet") {
  using T = tyto::Tensor<Mode>;
  const T a = T::from(std::vector<double>{100000.1, 0.001}, {2}), b = T::from(std::vector<std::int32_t>{1, 1000}, {2});
  const T found = tyto::fft::fftconvolve(a, b);
  CHECK(found.dtype() == DType::f64);
  const std::vector<double> expected{100000.1, 100000100.001, 1};
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(found.template to_vector<double>()[i] - expected[i]) < 1e-6);
}

// Expected values: Python's fractions.
BOTH_MODES("statistics of integers are those of their exact sums") {
  using T = tyto::Tensor<Mode>;
  const auto of = [](const std::vector<std::int64_t>& values, DType type) {
    return T::from(values, {static_cast<std::int64_t>(values.size())}).astype(type);
  };
  const auto one = [](const T& x) { return numbers(x).at(0); };
  // The sum is -1; in f32 it would be 0.
  const std::vector<std::int64_t> ends = {1, -2147483648, 2147483646};
  for (const DType type : {DType::i32, DType::i64}) {
    CAPTURE(type);
    CHECK(mean(of(ends, type)).dtype() == DType::f32);
    CHECK(one(mean(of(ends, type))) == static_cast<double>(-1.0f / 3));
    CHECK(one(tyto::nanmean(of(ends, type))) == static_cast<double>(-1.0f / 3));
    CHECK(one(average(of(ends, type), of({1, 1, 1}, DType::i32))) == static_cast<double>(-1.0f / 3));
    CHECK(one(average(of(ends, type), T{1.0, 1.0, 2.0})) == 536870911.25f);
    CHECK(numbers(mean(stack(std::vector<T>{of(ends, type), of({1, 2, 3}, type)}), 1)) ==
          Numbers{static_cast<double>(-1.0f / 3), 2});
    // 2^30 + {0, 1, 2, 3}.
    const T near = of({1073741824, 1073741825, 1073741826, 1073741827}, type);
    CHECK(one(var(near)) == 1.25);
    CHECK(one(tyto::nanvar(near)) == 1.25);
    CHECK(one(var(near, {}, false, 1)) == static_cast<double>(5.0f / 3));
    CHECK(one(stddev(near)) == doctest::Approx(1.118033988749895).epsilon(1e-7));
    CHECK(var(near).dtype() == DType::f32);
    CHECK(one(tyto::cov(near)) == doctest::Approx(5.0 / 3).epsilon(1e-7));
    CHECK(one(mean(near, {}, true).reshape({1})) == 1073741825.5f);
  }
  // Sums of 64 bits that 64 bits do not hold.
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  CHECK(one(mean(of({most, most, most}, DType::i64))) == 9223372036854775807.0f);
  CHECK(one(mean(of({least, least, least, most, most, most - 3}, DType::i64))) == -1.0f);
  CHECK(one(mean(of({least, most}, DType::i64))) == -0.5f);
  CHECK(one(mean(of({-1, -1, -2}, DType::u64))) == 18446744073709551615.0f);
  CHECK(one(mean(of({4294967295, 4294967295, 1}, DType::u32))) == 2863311530.3333335f);
  CHECK(one(mean(of({255, 255, 254}, DType::u8))) == static_cast<double>(254.66667f));
  CHECK(one(mean(of({-128, 127}, DType::i8))) == -0.5f);
  CHECK(one(mean(T{true, false, true})) == static_cast<double>(2.0f / 3));
  CHECK(std::isnan(one(mean(T::zeros({0}, DType::i32)))));
  CHECK(mean(T::zeros({2, 0, 3}, DType::i32), 1).shape() == tyto::Shape{2, 3});
  CHECK(numbers(mean(T::full({2, 1}, 7, DType::i16), 1)) == Numbers{7, 7});
}
