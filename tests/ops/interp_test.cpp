// SPDX-License-Identifier: MIT
// interp between and at infinite points, against the values of NumPy 2.4.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/weighted_gradient.hpp"
#include "tyto/calculus.hpp"

using namespace tyto;
using namespace tyto::testing;

namespace interp_test {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;

bool same(const Values& got, const Values& want) {
  return std::equal(got.begin(), got.end(), want.begin(), want.end(),
                    [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

}  // namespace

TEST_CASE_TEMPLATE("interp of infinite places and values gives what NumPy gives", M, Eager, Lazy) {
  using T = Tensor<M>;
  struct Case {
    Values at, values, expected;
  };
  const T x{-inf, -1.0, 0.0, 0.25, 1.0, 2.0, inf, nan};
  const std::vector<Case> cases{
      {{0, 1}, {1, 2}, {1, 1, 1, 1.25, 2, 2, 2, nan}},
      {{0, 1}, {1, 1}, {1, 1, 1, 1, 1, 1, 1, nan}},
      {{0, 1}, {1, inf}, {1, 1, 1, inf, inf, inf, inf, nan}},
      {{0, 1}, {inf, 1}, {inf, inf, inf, inf, 1, 1, 1, nan}},
      {{0, 1}, {1, -inf}, {1, 1, 1, -inf, -inf, -inf, -inf, nan}},
      {{0, 1}, {-inf, 1}, {-inf, -inf, -inf, -inf, 1, 1, 1, nan}},
      {{0, 1}, {inf, inf}, {inf, inf, inf, inf, inf, inf, inf, nan}},
      {{0, 1}, {-inf, -inf}, {-inf, -inf, -inf, -inf, -inf, -inf, -inf, nan}},
      {{0, 1}, {inf, -inf}, {inf, inf, inf, nan, -inf, -inf, -inf, nan}},
      {{0, 1}, {-inf, inf}, {-inf, -inf, -inf, nan, inf, inf, inf, nan}},
      {{0, 1}, {1, nan}, {1, 1, 1, nan, nan, nan, nan, nan}},
      {{1, 1, 2}, {3, nan, 7}, {3, 3, 3, 3, nan, 7, 7, nan}},
      {{0, 1}, {nan, 1}, {nan, nan, nan, nan, 1, 1, 1, nan}},
      {{0, 1}, {inf, nan}, {inf, inf, inf, nan, nan, nan, nan, nan}},
      {{0, 1}, {nan, inf}, {nan, nan, nan, nan, inf, inf, inf, nan}},
      {{0, inf}, {1, 2}, {1, 1, 1, 1, 1, 1, 2, nan}},
      {{0, inf}, {1, 1}, {1, 1, 1, 1, 1, 1, 1, nan}},
      {{0, inf}, {1, inf}, {1, 1, 1, nan, nan, nan, inf, nan}},
      {{0, inf}, {inf, 1}, {inf, inf, inf, nan, nan, nan, 1, nan}},
      {{0, inf}, {1, -inf}, {1, 1, 1, nan, nan, nan, -inf, nan}},
      {{0, inf}, {-inf, 1}, {-inf, -inf, -inf, nan, nan, nan, 1, nan}},
      {{0, inf}, {inf, inf}, {inf, inf, inf, inf, inf, inf, inf, nan}},
      {{0, inf}, {-inf, -inf}, {-inf, -inf, -inf, -inf, -inf, -inf, -inf, nan}},
      {{0, inf}, {inf, -inf}, {inf, inf, inf, nan, nan, nan, -inf, nan}},
      {{0, inf}, {-inf, inf}, {-inf, -inf, -inf, nan, nan, nan, inf, nan}},
      {{0, inf}, {1, nan}, {1, 1, 1, nan, nan, nan, nan, nan}},
      {{0, inf}, {nan, 1}, {nan, nan, nan, nan, nan, nan, 1, nan}},
      {{0, inf}, {inf, nan}, {inf, inf, inf, nan, nan, nan, nan, nan}},
      {{0, inf}, {nan, inf}, {nan, nan, nan, nan, nan, nan, inf, nan}},
      {{-inf, 0}, {1, 2}, {1, 2, 2, 2, 2, 2, 2, nan}},
      {{-inf, 0}, {1, 1}, {1, 1, 1, 1, 1, 1, 1, nan}},
      {{-inf, 0}, {1, inf}, {1, nan, inf, inf, inf, inf, inf, nan}},
      {{-inf, 0}, {inf, 1}, {inf, nan, 1, 1, 1, 1, 1, nan}},
      {{-inf, 0}, {1, -inf}, {1, nan, -inf, -inf, -inf, -inf, -inf, nan}},
      {{-inf, 0}, {-inf, 1}, {-inf, nan, 1, 1, 1, 1, 1, nan}},
      {{-inf, 0}, {inf, inf}, {inf, inf, inf, inf, inf, inf, inf, nan}},
      {{-inf, 0}, {-inf, -inf}, {-inf, -inf, -inf, -inf, -inf, -inf, -inf, nan}},
      {{-inf, 0}, {inf, -inf}, {inf, nan, -inf, -inf, -inf, -inf, -inf, nan}},
      {{-inf, 0}, {-inf, inf}, {-inf, nan, inf, inf, inf, inf, inf, nan}},
      {{-inf, 0}, {1, nan}, {1, nan, nan, nan, nan, nan, nan, nan}},
      {{-inf, 0}, {nan, 1}, {nan, nan, 1, 1, 1, 1, 1, nan}},
      {{-inf, 0}, {inf, nan}, {inf, nan, nan, nan, nan, nan, nan, nan}},
      {{-inf, 0}, {nan, inf}, {nan, nan, inf, inf, inf, inf, inf, nan}},
      {{-inf, inf}, {1, 2}, {1, nan, nan, nan, nan, nan, 2, nan}},
      {{-inf, inf}, {1, 1}, {1, 1, 1, 1, 1, 1, 1, nan}},
      {{-inf, inf}, {1, inf}, {1, nan, nan, nan, nan, nan, inf, nan}},
      {{-inf, inf}, {inf, 1}, {inf, nan, nan, nan, nan, nan, 1, nan}},
      {{-inf, inf}, {1, -inf}, {1, nan, nan, nan, nan, nan, -inf, nan}},
      {{-inf, inf}, {-inf, 1}, {-inf, nan, nan, nan, nan, nan, 1, nan}},
      {{-inf, inf}, {inf, inf}, {inf, inf, inf, inf, inf, inf, inf, nan}},
      {{-inf, inf}, {-inf, -inf}, {-inf, -inf, -inf, -inf, -inf, -inf, -inf, nan}},
      {{-inf, inf}, {inf, -inf}, {inf, nan, nan, nan, nan, nan, -inf, nan}},
      {{-inf, inf}, {-inf, inf}, {-inf, nan, nan, nan, nan, nan, inf, nan}},
      {{-inf, inf}, {1, nan}, {1, nan, nan, nan, nan, nan, nan, nan}},
      {{-inf, inf}, {nan, 1}, {nan, nan, nan, nan, nan, nan, 1, nan}},
      {{-inf, inf}, {inf, nan}, {inf, nan, nan, nan, nan, nan, nan, nan}},
      {{-inf, inf}, {nan, inf}, {nan, nan, nan, nan, nan, nan, inf, nan}},
      {{-1, 0, 1, 2}, {inf, 0, inf, 2}, {inf, inf, 0, inf, inf, 2, 2, nan}},
      {{-1, 0, 1, 2}, {0, inf, inf, 0}, {0, 0, inf, inf, inf, 0, 0, nan}},
      {{-1, 0, 0, 2}, {1, inf, 3, -inf}, {1, 1, 3, -inf, -inf, -inf, -inf, nan}},
      {{-inf, -1, 1, inf}, {2, 4, 8, 6}, {2, 4, 6, 6.5, 8, 8, 6, nan}},
      {{-inf, -1, 1, inf}, {inf, 4, 8, -inf}, {inf, 4, 6, 6.5, 8, nan, -inf, nan}},
      {{0}, {inf}, {inf, inf, inf, inf, inf, inf, inf, nan}},
      {{inf}, {2}, {2, 2, 2, 2, 2, 2, 2, nan}},
      {{-inf}, {2}, {2, 2, 2, 2, 2, 2, 2, nan}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.at);
    CAPTURE(each.values);
    const auto length = static_cast<std::int64_t>(each.at.size());
    const T at = T::from(each.at, {length}), values = T::from(each.values, {length});
    CHECK(same(interp(x.astype(DType::f64), at, values).template to_vector<double>(), each.expected));
    CHECK(same(
        interp(x.astype(DType::f32), at.astype(DType::f32), values.astype(DType::f32)).template to_vector<double>(),
        each.expected));
  }
}

TEST_CASE_TEMPLATE("interp below equal first places gives the first value, as NumPy does", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T at{1.0, 1.0, 2.0}, values{3.0, 5.0, 7.0};
  CHECK(interp(T{0.5, 1.0, 1.5, 3.0}, at, values).template to_vector<double>() == Values{3, 5, 6, 7});
  CHECK(interp(T{0.5, 1.0, 3.0}, at, values, -1.0, -2.0).template to_vector<double>() == Values{-1, 5, -2});
}

TEST_CASE_TEMPLATE("interp's gradient is that of the line wherever it is finite, beside infinities too", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  // One x within a finite interval, one in each of two that end and begin at infinity, and one at the last place.
  const T x = T{0.25, 1.5, 2.5, 3.0}.astype(DType::f64);
  const T at = T{0.0, 1.0, 2.0, 3.0}.astype(DType::f64), values = T{1.0, 3.0, inf, 5.0}.astype(DType::f64);
  const auto [value, gradients] =
      value_and_grad([&](const T& a, const T& b) { return sum(interp(a, at, b)); }, {0, 1})(x, values);
  CHECK(value.template item<double>() == inf);
  CHECK(same(gradients[0].template to_vector<double>(), {2, inf, -inf, 0}));
  CHECK(same(gradients[1].template to_vector<double>(), {0.75, 0.75, 1, 1.5}));
}

}  // namespace interp_test
