// SPDX-License-Identifier: MIT
// Gradients through loops and branches, of their carries, captures and results.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto_test::Numbers;
using tyto_test::numbers;

TEST_CASE("a gradient inside a body, and the gradient of that") {
  const auto meta = []<class T>(const T& rate) {
    const T w = fori_loop(0, 5, T::full({}, 3.0, DType::f64), [&](const T&, const T& c) {
      const auto [value, gradients] = tyto::value_and_grad([](const T& v) { return v * v * v; })(c);
      return c - rate * gradients[0];
    });
    return w * w;
  };
  const auto eager = tyto::value_and_grad(meta)(tyto::Tensor<Eager>::full({}, 0.01, DType::f64));
  const auto lazy = tyto::value_and_grad(meta)(tyto::Tensor<Lazy>::full({}, 0.01, DType::f64));
  CHECK(eager.first.item<double>() == lazy.first.item<double>());
  CHECK(eager.second[0].item<double>() == lazy.second[0].item<double>());
  CHECK(lazy.second[0].item<double>() < 0);
}

TEST_CASE("derivatives of second order go through loops") {
  const auto f = []<class T>(const T& x) {
    return scan([](const T& c, const T& r) { return std::pair(sin(c) * r, c); }, x, T::arange(1, 6).astype(DType::f64))
        .first;
  };
  const auto check = [&](auto x) {
    using T = decltype(x);
    const auto first = [&](const T& v) { return tyto::value_and_grad(f)(v).second[0]; };
    CHECK(f(x).template item<double>() == doctest::Approx(4.87849888).epsilon(1e-8));
    CHECK(first(x).template item<double>() == doctest::Approx(-5.46857734).epsilon(1e-8));
    CHECK(tyto::value_and_grad(first)(x).second[0].template item<double>() ==
          doctest::Approx(-99.1411282).epsilon(1e-8));
  };
  check(tyto::Tensor<Eager>::full({}, 0.7, DType::f64));
  check(tyto::Tensor<Lazy>::full({}, 0.7, DType::f64));
}

BOTH_MODES("a carry that nobody reads has no gradient, not even zero times an infinite one") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](const T& x) {
    const auto [last, rows] =
        scan([](const std::pair<T, T>& c,
                const T& row) { return std::pair(std::pair(sqrt(row), c.second + row), c.second * row); },
             std::pair(T::full({}, 0.0, DType::f64), T::full({}, 1.0, DType::f64)), x);
    return last.second + rows.sum();
  };
  // 1 + a + b, and rows a and (1 + a) b.
  CHECK(numbers(tyto::value_and_grad(f)(T{0.0, 2.0}.astype(DType::f64)).second[0]) == Numbers{4, 2});
}

BOTH_MODES("a loop whose results depend on nothing that has a gradient passes none on") {
  using T = tyto::Tensor<Mode>;
  // The rows are integers, and what is stacked is made of them alone.
  const auto f = [](const T& x) {
    const T rows = T::arange(4).astype(DType::i64);
    const auto [last, stacked] =
        scan([](const T& c, const T& row) { return std::pair(c * 2, row.astype(DType::f32) * 3); }, x, rows);
    return sum(stacked) + sum(x * 5);
  };
  CHECK(f(T::ones({3})).template item<float>() == 18 + 15);
  CHECK(numbers(tyto::grad(f)(T::ones({3}))) == Numbers{5, 5, 5});
  const auto apart = [](const T& x) {
    const auto [last, stacked] = scan([](const T& c, const T& row) { return std::pair(c * 2, row.astype(DType::f32)); },
                                      x, T::arange(4).astype(DType::i64));
    return sum(stacked);
  };
  CHECK(numbers(tyto::grad(apart)(T::ones({3}))) == Numbers{0, 0, 0});
}

BOTH_MODES("the gradients of two results that are one tensor both count in the second derivative") {
  using T = tyto::Tensor<Mode>;
  const auto loss = [](const T& x) {
    const auto [a, b] = cond(
        sum(x) > 0.0, [&] { return std::pair(x * x, x * x * x); }, [&] { return std::pair(x, x); });
    return sum(square(a + b));
  };
  const auto gradient = [&](const T& x) { return sum(tyto::grad(loss)(x)); };
  CHECK(tyto::grad(loss)(T{1.0}).template to_vector<float>() == std::vector<float>{20});
  CHECK(tyto::grad(gradient)(T{1.0}).template to_vector<float>() == std::vector<float>{82});
}

BOTH_MODES("a variable that a body captures beside its own value has its whole gradient") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(T{2.0});
  const auto chosen = [&](const T& x) {
    const T same = w.astype(DType::f32);
    return sum(cond(
        sum(x) > 0.0, [&] { return 3.0 * w + same * same; }, [&] { return x; }));
  };
  const auto repeated = [&](const T& x) {
    const T same = w.astype(DType::f32);
    return sum(fori_loop(0, 2, x, [&](const T&, const T& h) { return h + 3.0 * w + same * same; }));
  };
  const auto gradient_of = [&](const auto& objective) {
    return tyto::value_and_grad(objective, std::vector<T>{w})(T{1.0}).second[0].template to_vector<float>();
  };
  CHECK(gradient_of(chosen) == std::vector<float>{7});
  CHECK(gradient_of(repeated) == std::vector<float>{14});
}

BOTH_MODES("a number that a body captures has its gradient") {
  using T = tyto::Tensor<Mode>;
  const T rows = T{1.0, 2.0}.astype(DType::f64);
  const auto f = [&](const T& rate) {
    return scan([&](const T& c, const T& row) { return std::pair(c * rate + row, c * rate); },
                T::full({}, 1.0, DType::f64), rows)
        .first;
  };
  // (rate + 1) rate + 2
  CHECK(tyto::value_and_grad(f)(T(3.0)).second[0].template item<double>() == 7);
}

BOTH_MODES("complex numbers are carried, stacked and chosen, and have gradients") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](const T& angle) {
    const T turn = tyto::complex(cos(angle), sin(angle));
    const auto [last, rows] = scan(
        [&](const T& z, const T& x) {
          const T next = cond(
              x > 1.5, [&] { return z * turn; }, [&] { return z + x; });
          return std::pair(next, next);
        },
        tyto::complex(angle, angle), T{1.0, 2.0, 3.0});
    return (real(last) + imag(rows).sum()).sum();
  };
  const T angle = T::full({}, 0.25, DType::f64);
  // z = (1.25 + 0.25 i), then turned by a quarter twice.
  const double c = std::cos(0.25), s = std::sin(0.25);
  const double one = 1.25 * s + 0.25 * c, two = 1.25 * std::sin(0.5) + 0.25 * std::cos(0.5);
  const double expected = 1.25 * std::cos(0.5) - 0.25 * std::sin(0.5) + 0.25 + one + two;
  CHECK(f(angle).template item<double>() == doctest::Approx(expected).epsilon(1e-12));
  const double step = 1e-6;
  const double gradient =
      (f(angle + step).template item<double>() - f(angle - step).template item<double>()) / (2 * step);
  CHECK(tyto::value_and_grad(f)(angle).second[0].template item<double>() == doctest::Approx(gradient).epsilon(1e-7));
}
