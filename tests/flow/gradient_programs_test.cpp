// SPDX-License-Identifier: MIT
// Gradients of first and second order of loops and branches within one another, with states and random draws, against
// differences in both modes.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/flow/programs.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace gradient_programs {

using flow_programs::check_gradients;
using flow_programs::real;
using flow_programs::whole;
using tyto::DType;
using tyto_test::doubles;
using tyto_test::finite_differences;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class T>
double value_of(const T& x) {
  return x.template item<double>();
}

const Numbers some_rows{0.4, -0.7, 1.1, 0.2, -0.3, 0.9, -1.2, 0.6};
const Numbers some_weights{0.8, -0.5, 0.3, 0.6};

// Each row is squashed as often as it takes to become small, at most four times, by a branch on its sign.
template <class T>
T nested(const T& start, const T& weights, const T& rows) {
  const auto [last, ys] = tyto::scan(
      [&](const T& c, const T& row) {
        const T small = tyto::while_loop(
            row * c, [](const T& v) { return sum(square(v)) > 0.05; },
            [&](const T& v) {
              return tyto::cond(
                  sum(v) > 0.0, [&] { return tanh(v * weights(0)) * 0.6; },
                  [&] { return sin(matmul(weights, v)) * 0.5 + c * 0.05; });
            },
            {.most = 4});
        return std::pair(c * 0.7 + small, sum(small * row) * c);
      },
      start, rows);
  return sum(square(last)) + sum(ys * ys * ys);
}

BOTH_MODES("a tested loop with a branch within a scan") {
  using T = tyto::Tensor<Mode>;
  const T start = doubles<T>({0.9, -1.3}, {2}), weights = doubles<T>(some_weights, {2, 2});
  const T rows = doubles<T>(some_rows, {4, 2});
  SUBCASE("by its first carry") {
    check_gradients<T>([&](const T& x) { return nested(x, weights, rows); }, {0.9, -1.3}, {2});
  }
  SUBCASE("by what two loops capture") {
    check_gradients<T>([&](const T& x) { return nested(start, x, rows); }, some_weights, {2, 2});
  }
  SUBCASE("by its rows") {
    check_gradients<T>([&](const T& x) { return nested(start, weights, x); }, some_rows, {4, 2});
  }
}

BOTH_MODES("inner loops of as many iterations as the number of the outer one, in reverse") {
  using T = tyto::Tensor<Mode>;
  const auto loss = [](const T& x) {
    const auto [last, ys] = scan(
        [&](const std::pair<T, T>& c, const T& row) {
          const T inner = fori_loop(whole<T>(0), c.second, row,
                                    [&](const T& j, const T& v) { return sin(v) * x + j * 0.1 * row; }, {.most = 4});
          return std::pair(std::pair(c.first * x + inner, c.second + 1), inner * c.first);
        },
        std::pair(x * 0.5, whole<T>(0)), doubles<T>({0.3, -0.8, 1.4}, {3}), {.reverse = true});
    return last.first + sum(square(ys));
  };
  check_gradients<T>(loss, {0.7}, {});
}

BOTH_MODES("arms of loops, of which one stops early, chosen by an integer that is carried") {
  using T = tyto::Tensor<Mode>;
  using State = std::pair<T, T>;
  using Arm = std::function<T()>;
  const auto loss = [](const T& x) {
    const State last = fori_loop(0, 5, State(x, whole<T>(2)), [&](const T& i, const State& s) {
      const T &c = s.first, &which = s.second;
      const std::vector<Arm> arms{[&] { return c * x; },
                                  [&] {
                                    return std::get<0>(scan_until(
                                        [&](const T& v, const T& row) {
                                          const T next = sin(v * row) + x;
                                          return std::tuple(next, next, sum(row) > 1.5);
                                        },
                                        c, doubles<T>({1.1, 0.7, -0.9, 0.2, 2, 1, 0.5, 0.5}, {4, 2})));
                                  },
                                  [&] {
                                    return while_loop(
                                        c, [](const T& v) { return sum(v * v) < 3.0; },
                                        [&](const T& v) { return v * 1.3 + x * 0.1; }, {.most = 6});
                                  }};
      return State(switch_case(which, arms), (which + i) % 3);
    });
    return sum(last.first * cos(last.first));
  };
  check_gradients<T>(loss, {0.4, -0.65}, {2});
}

BOTH_MODES("states that are read and assigned to on the way, within loops and arms") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(doubles<T>({0.5, -0.4}, {2}), "w"), v = T::variable(real<T>(0.3), "v");
  const auto set_states = [&](const Numbers& first, double second) {
    assign(w, doubles<T>(first, {2}));
    assign(v, real<T>(second));
  };
  const auto loss = [&](const T& x) {
    const auto [last, ys] = scan(
        [&](const T& c, const T& row) {
          const T mixed = tanh(c * w + row);
          assign(w, w * 0.8 + mixed * v);  // an assignment that later iterations read
          const T chosen = cond(
              sum(mixed) > 0.1,
              [&] {
                assign(v, v * v + sum(w) * 0.1);
                return mixed * v;
              },
              [&] { return mixed * w; });
          return std::pair(chosen + w * 0.2, sum(chosen) * v);
        },
        x, doubles<T>({0.3, -0.2, 0.8, 0.5, -0.6, 0.1}, {3, 2}));
    return sum(square(last)) + sum(ys) + v * sum(w);
  };
  const Numbers at{0.7, -0.1};
  const auto value_at = [&](const Numbers& x) {
    set_states({0.5, -0.4}, 0.3);
    return value_of(loss(doubles<T>(x, {2})));
  };
  set_states({0.5, -0.4}, 0.3);
  const Numbers gradient = numbers(tyto::grad(loss)(doubles<T>(at, {2})));
  const Numbers states_after = numbers(w);
  const double step = 1e-6;
  for (std::size_t i = 0; i < 2; ++i) {
    Numbers more = at, less = at;
    more[i] += step, less[i] -= step;
    CHECK(gradient[i] == doctest::Approx((value_at(more) - value_at(less)) / (2 * step)).epsilon(1e-7));
  }
  // Taking the gradient assigns once, as the loss alone does.
  (void)value_at(at);
  CHECK(numbers(w) == states_after);
}

BOTH_MODES("masks that are drawn anew in each iteration, in arms and in loops within") {
  using T = tyto::Tensor<Mode>;
  const auto loss = [](const T& x) {
    tyto::seed(23);
    const auto [last, ys] = scan(
        [&](const T& c, const T& row) {
          const T mask = T::bernoulli({3}, {.probability = 0.6}).astype(DType::f64);
          const T inner = fori_loop(0, 2, c * mask, [&](const T&, const T& u) {
            return cond(
                sum(u) > 0.0, [&] { return sin(u * x) + T::uniform({3}, {.dtype = DType::f64}) * row; },
                [&] { return u * x * T::normal({3}, {.dtype = DType::f64}); });
          });
          return std::pair(inner, inner * mask);
        },
        x * 2, doubles<T>({0.5, -0.8, 1.3, 0.2}, {4}));
    return sum(last) + sum(square(ys));
  };
  check_gradients<T>(loss, {0.6, -0.35, 0.8}, {3});
}

BOTH_MODES(
    "a descent within a scan on a loss that is itself a scan, and the gradient of where it comes to by its rate") {
  using T = tyto::Tensor<Mode>;
  const T rows = doubles<T>(some_rows, {4, 2});
  const auto inner_loss = [&](const T& w) {
    return sum(square(
        scan([&](const T& c, const T& row) { return std::pair(tanh(c * w + row), c); }, T::zeros({2}, DType::f64), rows)
            .first));
  };
  const auto meta = [&](const T& rate) {
    const T w = fori_loop(0, 4, doubles<T>({0.9, -0.4}, {2}),
                          [&](const T&, const T& at) { return at - rate * tyto::grad(inner_loss)(at); });
    return inner_loss(w) + sum(w);
  };
  const double step = 1e-5, at = 0.15;
  const double expected = (value_of(meta(real<T>(at + step))) - value_of(meta(real<T>(at - step)))) / (2 * step);
  CHECK(value_of(tyto::grad(meta)(real<T>(at))) == doctest::Approx(expected).epsilon(1e-8));
}

BOTH_MODES("the gradient of a carry that nothing reads after the loop, which others are made from") {
  using T = tyto::Tensor<Mode>;
  using Four = std::vector<T>;
  const auto loss = [](const T& x) {
    // Only the last of four is read: the others reach it after one, two and three iterations.
    const Four last = fori_loop(0, 5, Four{x * 2, sin(x), x * x, x * 0}, [&](const T& i, const Four& c) {
      return Four{c[0] * x + 0.1 * i.astype(DType::f64), c[1] + c[0] * c[0], c[2] * c[1], c[3] + sin(c[2])};
    });
    return last[3];
  };
  check_gradients<T>(loss, {0.45}, {});
}

BOTH_MODES("a custom gradient and a stopped one within a branch within a loop") {
  using T = tyto::Tensor<Mode>;
  const auto loss = [](const T& x) {
    const auto squashed = tyto::custom_gradient<T>(
        [](const std::vector<T>& in) { return tanh(in[0]); },
        [](const std::vector<T>&, const T& y, const T& g) { return std::vector<T>{g * (1.0 - y * y)}; });
    return sum(fori_loop(0, 4, x, [&](const T& i, const T& c) {
      return cond(
          i % 2 == 0, [&] { return squashed({c * x}) + x; },
          [&] { return c * c - tyto::stop_gradient(c * c) + sin(c); });
    }));
  };
  // The stopped part counts in differences but not in gradients: both by hand.
  const double x = 0.6;
  double c = x, gradient = 1;
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0) {
      const double y = std::tanh(c * x);
      gradient = (1 - y * y) * (gradient * x + c) + 1;
      c = y + x;
    } else {
      gradient = 2 * c * gradient + std::cos(c) * gradient;
      c = std::sin(c);
    }
  }
  CHECK(value_of(loss(real<T>(x))) == doctest::Approx(c).epsilon(1e-14));
  CHECK(value_of(tyto::grad(loss)(real<T>(x))) == doctest::Approx(gradient).epsilon(1e-13));
}

}  // namespace gradient_programs
