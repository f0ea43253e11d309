// Median and quantiles against what NumPy's give.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
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
