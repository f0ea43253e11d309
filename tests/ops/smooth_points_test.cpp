// SPDX-License-Identifier: MIT
// Slopes of first and second order at points where formulas change, against their values by hand.
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

TEST_CASE("the Bessel function i0 and its slope are finite as long as f64 has them, and infinite beyond") {
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
    const auto slope = [&](const T& x) { return grad([](const T& v) { return sum(i0(v)); })(x.astype(type)); };
    const std::vector<double> found =
        slope(T{100.0, -100.0, 1001.0, -1001.0, 1.0}).astype(DType::f64).to_vector<double>();
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

TEST_CASE("probabilities of 0 and 1 have slopes where they are possible") {
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

TEST_CASE_TEMPLATE("norms of complex numbers are curved where an element is zero", M, Eager, Lazy) {
  using X = Tensor<M>;
  const X zero = X::zeros({1}, DType::f64), other = complex(zero + 3, zero + 4);
  // The norm r of z and 3 + 4i is 5 at z = 0, where its second derivative by either part is 1 / r; that of r^2 is 2.
  for (const bool along : {true, false}) {
    CAPTURE(along);
    const auto both = [&](const X& x) { return concat({along ? complex(x, zero) : complex(zero, x), other}); };
    const auto curvature = [&](const auto& norm) {
      const auto slope = [&](const X& v) { return sum(grad([&](const X& x) { return norm(both(x)); })(v)); };
      return grad(slope)(zero).template item<double>();
    };
    CHECK(curvature([](const X& z) { return l2_norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return linalg::norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return linalg::vector_norm(z); }) == doctest::Approx(0.2));
    CHECK(curvature([](const X& z) { return l2_norm_sqr(z); }) == 2);
    CHECK(linalg::norm(both(zero + 12)).template item<double>() == doctest::Approx(13));
  }
}

}  // namespace smooth_points_test
