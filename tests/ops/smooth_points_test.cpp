// SPDX-License-Identifier: MIT
// Gradients of first and second order at points where formulas change, against their values by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/distributions.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/special.hpp"

using namespace tyto;

namespace smooth_points_test {

using T = Tensor<Eager>;

T at(double value) { return T::full({1}, value, DType::f64); }

template <class F>
double first(const F& f, double x) {
  return grad([&](const T& v) { return sum(f(v)); })(at(x)).template item<double>();
}
template <class F>
double second(const F& f, double x) {
  const auto total = [&](const T& v) { return sum(f(v)); };
  return grad([&](const T& v) { return sum(grad(total)(v)); })(at(x)).template item<double>();
}

constexpr double pi = std::numbers::pi, ln2 = std::numbers::ln2;

TEST_CASE("sinc is curved at zero as beside it") {
  const auto f = [](const T& x) { return sinc(x); };
  CHECK(f(at(0)).item<double>() == 1);
  CHECK(first(f, 0) == 0);
  CHECK(second(f, 0) == doctest::Approx(-pi * pi / 3));
  for (const double x : {1e-4, 0.00317, 0.00319, -0.003, 0.5}) {
    const double angle = pi * x;
    CHECK(f(at(x)).item<double>() == doctest::Approx(std::sin(angle) / angle).epsilon(1e-15));
  }
  for (const double x : {0.003, 0.0033}) CHECK(second(f, x) == doctest::Approx(-pi * pi / 3).epsilon(1e-4));
}

TEST_CASE("the Bessel function i0 is curved at zero") {
  const auto f = [](const T& x) { return i0(x); };
  CHECK(first(f, 0) == 0);
  CHECK(second(f, 0) == 0.5);
  CHECK(first(f, -1) == doctest::Approx(-0.5651591039924851));  // -i1(1)
}

TEST_CASE("the Bessel function i0 and its gradient are finite as long as f64 has them, and infinite beyond") {
  const auto f = [](const T& x) { return i0(x); };
  // mpmath's i0 and i1.
  CHECK(f(at(712)).item<double>() == doctest::Approx(2.468411057762752e307).epsilon(1e-12));
  CHECK(first(f, 712) == doctest::Approx(2.466677013524615e307).epsilon(1e-12));
  CHECK(first(f, -712) == doctest::Approx(-2.466677013524615e307).epsilon(1e-12));
  CHECK(f(at(713.9)).item<double>() == doctest::Approx(1.648155186695138e308).epsilon(1e-12));
  for (const double x : {714.0, 1001.0, 1e300, std::numeric_limits<double>::infinity()}) {
    CAPTURE(x);
    CHECK(f(at(x)).item<double>() == std::numeric_limits<double>::infinity());
    CHECK(first(f, x) == std::numeric_limits<double>::infinity());
    CHECK(first(f, -x) == -std::numeric_limits<double>::infinity());
  }
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    CAPTURE(type);
    const auto gradient = [&](const T& x) { return grad([](const T& v) { return sum(i0(v)); })(x.astype(type)); };
    const std::vector<double> found =
        gradient(T{100.0, -100.0, 1001.0, -1001.0, 1.0}).astype(DType::f64).to_vector<double>();
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(found[i] == (i % 2 == 0 ? 1 : -1) * std::numeric_limits<double>::infinity());
    }
    CHECK(found[4] == doctest::Approx(0.5651591039924851).epsilon(0.01));
  }
}

TEST_CASE("logaddexp2 is curved where its operands are equal") {
  for (const double y : {-1.0, 0.0, 3.0, 1e10}) {
    const auto f = [y](const T& x) { return logaddexp2(x, at(y)); };
    CHECK(f(at(y)).item<double>() == y + 1);
    CHECK(first(f, y) == 0.5);
    CHECK(second(f, y) == doctest::Approx(ln2 / 4));
  }
  for (const double x : {0.004, 0.0049, 0.0051, -0.0049, 2.0, -40.0}) {
    const double expected = std::log2(std::exp2(x) + 1);
    CHECK(logaddexp2(at(x), at(0)).item<double>() == doctest::Approx(expected).epsilon(1e-14));
    const double share = std::exp2(x) / (std::exp2(x) + 1);
    const auto f = [](const T& v) { return logaddexp2(v, at(0)); };
    CHECK(first(f, x) == doctest::Approx(share).epsilon(1e-11));
    CHECK(second(f, x) == doctest::Approx(ln2 * share * (1 - share)).epsilon(1e-8));
  }
}

TEST_CASE("probabilities of 0 and 1 have gradients where they are possible") {
  namespace d = distributions;
  const auto bernoulli = [](double x) { return [x](const T& p) { return d::Bernoulli<T>{p}.log_prob(at(x)); }; };
  CHECK(first(bernoulli(1), 1) == 1);
  CHECK(first(bernoulli(0), 0) == -1);
  CHECK(first(bernoulli(1), 0.25) == 4);
  CHECK(first(bernoulli(0), 0.75) == -4);
  const auto geometric = [](double x) { return [x](const T& p) { return d::Geometric<T>{p}.log_prob(at(x)); }; };
  CHECK(first(geometric(1), 1) == 1);
  CHECK(first(geometric(3), 0.5) == -2);
  CHECK(first(geometric(0), 0) == 0);
}

TEST_CASE(
    "the logarithm of Cauchy's density keeps small distances from the mode, and is smooth where its formula changes") {
  namespace d = distributions;
  const auto f = [](const T& x) { return d::Cauchy<T>{}.log_prob(x); };
  // mpmath's at 40 digits: -log(1 + z^2) - log(pi), -2 z / (1 + z^2) and -2 (1 - z^2) / (1 + z^2)^2.
  const double points[][4] = {{-3, -3.4473149788434459, 0.6, 0.16},
                              {-1, -1.8378770664093455, 1, 0},
                              {-0.5, -1.3678734371636099, 0.8, -0.96},
                              {0, -1.1447298858494002, 0, -2},
                              {1e-5, -1.1447298859494002, -1.9999999998e-5, -1.9999999994},
                              {0.5, -1.3678734371636099, -0.8, -0.96},
                              {0.999, -1.8368770665761372, -0.99999949949975, -0.0010015009999992491},
                              {1, -1.8378770664093455, -1, 0},
                              {1.001, -1.8388770662428038, -0.99999950049975, 0.00099850099999925087},
                              {4, -3.9779432299056163, -0.47058823529411765, 0.10380622837370242}};
  for (const auto& [x, value, gradient, curvature] : points) {
    CAPTURE(x);
    CHECK(std::abs(f(at(x)).item<double>() - value) < 1e-15);
    CHECK(std::abs(first(f, x) - gradient) < 1e-15);
    CHECK(std::abs(second(f, x) - curvature) < 2e-15);
  }
  CHECK(first(f, 1e200) == doctest::Approx(-2e-200));
  // Of this scale the density at the mode is 1 in f32, so that nothing but the distance is left.
  const T narrow = T::full({}, 1 / pi, DType::f32);
  const auto beside = [&](double x) { return d::Cauchy<T>{0.0, narrow}.log_prob(T::full({}, x, DType::f32)); };
  CHECK(beside(0).item<float>() == 0);
  CHECK(beside(1e-4).item<float>() == doctest::Approx(-9.869604211709916e-8).epsilon(3e-7));
}

TEST_CASE_TEMPLATE("norms of complex numbers are those of their parts along any axes", M, Eager, Lazy) {
  using X = Tensor<M>;
  const X z = complex(X{{1.0, 2.0, 2.0}, {4.0, 0.0, 6.0}}, X{{0.0, 4.0, 5.0}, {3.0, 12.0, 8.0}}).astype(DType::c128);
  const auto check = [&](const Axes& axes, const std::vector<double>& squares, const Shape& kept) {
    CHECK(l2_norm_sqr(z, axes).template to_vector<double>() == squares);
    CHECK(l2_norm_sqr(z, axes, true).template to_vector<double>() == squares);
    CHECK(l2_norm_sqr(z, axes, true).shape() == kept);
    const std::vector<double> norms = l2_norm(z, axes).template to_vector<double>();
    for (std::size_t i = 0; i < squares.size(); ++i) CHECK(norms[i] == doctest::Approx(std::sqrt(squares[i])));
  };
  check({}, {319}, {1, 1});
  check(0, {26, 164, 129}, {1, 3});
  check(1, {50, 269}, {2, 1});
  check({-1, 0}, {319}, {1, 1});
  CHECK(l2_norm_sqr(z[1][1]).template item<double>() == 144);
  CHECK(l2_norm(X::zeros({0, 2}, DType::c64), 0).template to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE_TEMPLATE("norms of complex numbers are curved where an element is zero", M, Eager, Lazy) {
  using X = Tensor<M>;
  const X zero = X::zeros({1}, DType::f64), other = complex(zero + 3, zero + 4);
  // The norm r of z and 3 + 4i is 5 at z = 0, where its second derivative by either part is 1 / r; that of r^2 is 2.
  for (const bool along : {true, false}) {
    CAPTURE(along);
    const auto both = [&](const X& x) { return concat({along ? complex(x, zero) : complex(zero, x), other}); };
    const auto curvature = [&](const auto& norm) {
      const auto gradient = [&](const X& v) { return sum(grad([&](const X& x) { return norm(both(x)); })(v)); };
      return grad(gradient)(zero).template item<double>();
    };
    CHECK(curvature([](const X& z) { return l2_norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return linalg::norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return linalg::vector_norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return l2_norm_sqr(z); }) == 2);
    CHECK(linalg::norm(both(zero + 12)).template item<double>() == doctest::Approx(13));
  }
}

}  // namespace smooth_points_test
