// SPDX-License-Identifier: MIT
// Cases that other libraries publish for their loops and branches, with their expected numbers; sources are listed in
// tests/flow/cases.md.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/flow/cases.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/clients.hpp"
#include "tests/support/numbers.hpp"

namespace published_cases {

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class T>
T real(double x) {
  return T::full({}, x, DType::f64);
}

/// In f64, which braces are not.
template <class T>
T list(const std::vector<double>& numbers) {
  return T::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

template <class T>
double value_of(const T& x) {
  return x.astype(DType::f64).template item<double>();
}

/// Which piece of a line x lies in; 3 beyond 2.
template <class T>
T piece_number(const T& x) {
  return (x >= 0.0).astype(DType::i64) + (x >= 1.0).astype(DType::i64) + (x >= 2.0).astype(DType::i64);
}

BOTH_MODES("a function is traced once for its arguments and again with them exchanged") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto f = tyto::compile([](T z, T x) {
    const T y = real<T>(5.5);
    return fori_loop(0, 5, Pair(z, x), [&](const T&, const Pair& c) { return Pair(c.first * y, c.second); });
  });
  const T a = real<T>(0.47), b = real<T>(0.32);
  CHECK(value_of(f(a, b).first) == doctest::Approx(2365.4365625).epsilon(1e-12));
  CHECK(value_of(f(b, a).first) == doctest::Approx(0.32 * std::pow(5.5, 5)).epsilon(1e-12));
  CHECK(value_of(f(a, b).second) == 0.32);
}

TEST_CASE("the text of a graph shows the bodies of both of two loops, and one that does nothing is not kept") {
  using T = tyto::Tensor<Lazy>;
  const T x = T::placeholder({2}, DType::f32, "x");
  const T powers = fori_loop(0, 5, x, [](const T&, const T& c) { return tanh(c); });
  const T both = fori_loop(0, 3, powers, [](const T&, const T& c) { return exp(c); });
  const std::string text = tyto::Graph({.inputs = {x}, .outputs = {both}}).text();
  CHECK(text.find("tanh") != std::string::npos);
  CHECK(text.find("exp") != std::string::npos);
  const T idle = fori_loop(0, 7, powers, [](const T&, const T& c) { return c; });
  const auto steps = [&](const T& y) { return tyto::Graph({.inputs = {x}, .outputs = {y}}).report().steps; };
  CHECK(steps(idle) == steps(powers));
}

TEST_CASE("a loop of 2^33 iterations that do nothing is not run") {
  using T = tyto::Tensor<Lazy>;
  const T y = fori_loop(0, std::int64_t{1} << 33, T{1.0, 2.0}, [](const T&, const T& c) { return c; });
  CHECK(numbers(y) == Numbers{1, 2});
}

TEST_CASE("an initial value that is read after the loop is not moved for it") {
  using T = tyto::Tensor<Lazy>;
  const T x = T::placeholder({64}, DType::f32, "x"), z = T::placeholder({64}, DType::f32, "z");
  const T start = z * 2;
  const T y = fori_loop(0, 5, start, [&](const T&, const T& c) { return c * x; }) + start;
  tyto::Graph graph({.inputs = {x, z}, .outputs = {y}});
  for (const tyto::MovedBytes& each : graph.report().moved) CHECK(each.per_iteration == 0);
}

BOTH_MODES("views of a loop's result see what it computed") {
  using T = tyto::Tensor<Mode>;
  auto f = tyto::compile([](T x) {
    const T y = fori_loop(0, 5, x, [](const T&, const T& c) { return cumsum(c, 1) * 0.5; });
    return std::pair(
        y, std::pair(y.get({tyto::slice(0, 3), tyto::slice(1, 4)}), y.get({tyto::slice(0, 3), tyto::slice(4, 10)})));
  });
  const auto [y, views] = f(T::ones({3, 10}));
  const Numbers all = numbers(y), first = numbers(views.first), second = numbers(views.second);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(first[row * 3 + i] == all[row * 10 + 1 + i]);
    for (std::size_t i = 0; i < 6; ++i) CHECK(second[row * 6 + i] == all[row * 10 + 4 + i]);
  }
}

BOTH_MODES("one graph chooses anew in each run, in any order, and keeps earlier results as they were") {
  using T = tyto::Tensor<Mode>;
  auto f = tyto::compile([](T x) { return flow_cases::piece(x); });
  const double at[] = {-1, .76, 1.226, 2.1}, expected[] = {0, .76, 1.113, 1.5};
  std::vector<T> kept;
  for (const int i : {0, 1, 2, 3, 3, 2, 1, 0}) {
    kept.push_back(f(real<T>(at[i])));
    CHECK(value_of(kept.back()) == doctest::Approx(expected[i]).epsilon(1e-12));
  }
  for (const int i : {0, 1, 2, 3}) CHECK(value_of(kept[std::size_t(i)]) == doctest::Approx(expected[i]).epsilon(1e-12));
  auto looped = tyto::compile(
      [](T x) { return fori_loop(0, 4, x, [](const T&, const T& c) { return flow_cases::piece(c); }) * 0.3; });
  CHECK(value_of(looped(real<T>(1.226))) == doctest::Approx(.3042375).epsilon(1e-9));
  CHECK(value_of(looped(real<T>(0.8))) == doctest::Approx(.24).epsilon(1e-9));
}

BOTH_MODES("a branch's gradient is that of the arm which runs") {
  using T = tyto::Tensor<Mode>;
  auto gradient = tyto::compile([](T x) { return tyto::grad([](const T& v) { return flow_cases::piece(v); })(x); });
  const double at[] = {-1, .76, 1.226, 2.1}, expected[] = {0, 1, .5, 0};
  for (int i = 0; i < 4; ++i) CHECK(value_of(gradient(real<T>(at[i]))) == expected[i]);
}

BOTH_MODES("four arms and one that passes on what it is given") {
  using T = tyto::Tensor<Mode>;
  using Arm = std::function<T(const T&)>;
  auto f = tyto::compile([](T x) {
    const T index = piece_number(x) + (x > 1000.0).astype(DType::i64);
    return switch_case(index,
                       std::vector<Arm>{[](const T& v) { return exp(v); }, [](const T& v) { return v; },
                                        [](const T& v) { return log(v); }, [](const T& v) { return 1.0 / v; },
                                        [](const T& v) { return v * 1.1; }},
                       x);
  });
  const std::pair<double, double> cases[] = {
      {-2.2, std::exp(-2.2)}, {1.1, std::log(1.1)}, {.9, .9}, {2.2, 1 / 2.2}, {1001, 1101.1}};
  for (const auto& [x, y] : cases) CHECK(value_of(f(real<T>(x))) == doctest::Approx(y).epsilon(1e-12));
}

BOTH_MODES("arms of products of different sizes give what the formula gives") {
  using T = tyto::Tensor<Mode>;
  using Arm = std::function<T()>;
  tyto::seed(11);
  const auto weight = [](std::int64_t rows, std::int64_t columns) {
    return T::variable(T::uniform({rows, columns}, {.low = -1, .high = 1}));
  };
  const std::vector<std::vector<T>> chains{
      {weight(2, 1), weight(1, 3), weight(3, 2)}, {weight(2, 16), weight(16, 2)}, {weight(2, 8), weight(8, 2)}};
  const auto chain = [&](std::size_t k, T x) {
    for (const T& w : chains[k]) x = matmul(x, w);
    return x;
  };
  auto f = tyto::compile([&](T x) {
    std::vector<Arm> arms{[&] { return x; }};
    for (std::size_t k = 0; k < 3; ++k) arms.push_back([&, k] { return chain(k, x); });
    return switch_case(piece_number(sum(x.get({0, 0}))), arms);
  });
  const double firsts[] = {-1, .5, 1.11, 4.5};
  for (std::size_t i = 0; i < 4; ++i) {
    const T x = T{{firsts[i], 10.0 / static_cast<double>(i + 1)}};
    const Numbers found = numbers(f(x)), expected = numbers(i == 0 ? x : chain(i - 1, x));
    for (std::size_t k = 0; k < 2; ++k) CHECK(found[k] == doctest::Approx(expected[k]).epsilon(1e-5));
  }
}

BOTH_MODES("what is computed twice around a branch or in a body is computed once") {
  using T = tyto::Tensor<Mode>;
  using Arm = std::function<T()>;
  auto chosen = tyto::compile([](T x, T y, T z) {
    const T sum1 = x + y, prod1 = sum1 * z, sum2 = x + y, prod2 = sum2 * z;
    return switch_case(
        (x >= 0.0).astype(DType::i64) + (x >= 2.0).astype(DType::i64),
        std::vector<Arm>{[&] { return sum1 + prod1 + prod2; }, [&] { return prod2 * sum2; }, [&] { return prod1; }});
  });
  CHECK(value_of(chosen(real<T>(-2), real<T>(1.1), real<T>(2.2))) == doctest::Approx(-4.86).epsilon(1e-12));
  CHECK(value_of(chosen(real<T>(1.5), real<T>(1.1), real<T>(2.2))) == doctest::Approx(14.872).epsilon(1e-12));
  // x := 2 x y six times; p and z1 are both x y of the last iteration, z2 = 2 x y.
  using List = std::vector<T>;
  auto looped = tyto::compile([](T x, T y) {
    const T none = x * 0.0;
    const List last = fori_loop(0, 6, List{x, none, none}, [&](const T&, const List& c) {
      const T p = c[0] * y, z1 = c[0] * y;
      return List{p + z1, p, z1};
    });
    return std::pair(last[1] + last[0], last[1] + last[2] + last[0]);
  });
  const auto [three, four] = looped(real<T>(0.5), real<T>(1.1));
  CHECK(value_of(three) == doctest::Approx(85.034928).epsilon(1e-9));
  CHECK(value_of(four) == doctest::Approx(113.379904).epsilon(1e-9));
}

BOTH_MODES("a loop and a branch that do not depend on each other") {
  using T = tyto::Tensor<Mode>;
  const auto column = [](double a, double b) { return list<T>({a, b}); };
  auto f = tyto::compile([&](T a, T w) {
    const T last = fori_loop(0, 5, a, [&](const T&, const T& c) { return matmul(w, c); });
    const T left = cond(
        sum(a) > 1.0, [&] { return sum(a * column(.6, 3)) + .4; }, [&] { return sum(a) * 0.0; });
    return std::pair(last, left * (sum(last * column(.2, .3)) + 1.0) + .5);
  });
  const auto [a, c] = f(column(1.4, .2), list<T>({1.1, 2.2, 1.0, 2.0}).reshape({2, 2}));
  CHECK(numbers(a)[0] == doctest::Approx(182.857158).epsilon(1e-9));
  CHECK(numbers(a)[1] == doctest::Approx(166.23378).epsilon(1e-9));
  CHECK(value_of(c) == doctest::Approx((1.4 * .6 + .2 * 3 + .4) * (.2 * 182.857158 + .3 * 166.23378 + 1) + .5));
}

BOTH_MODES("a branch of one product, and beside a loop") {
  using T = tyto::Tensor<Mode>;
  const auto column = [](double a, double b) { return list<T>({a, b}); };
  const auto square = [](const std::vector<double>& numbers) { return list<T>(numbers).reshape({2, 2}); };
  const T start = column(1.4, .2);
  auto alone = tyto::compile([&](T a) {
    return cond(
        sum(a) > 1.0,
        [&] {
          return matmul(square({2, 11, 1, 2}), a);
        },
        [&] { return a; });
  });
  const Numbers product = numbers(alone(start));
  CHECK(product[0] == doctest::Approx(5).epsilon(1e-12));
  CHECK(product[1] == doctest::Approx(1.8).epsilon(1e-12));
  CHECK(numbers(alone(column(.25, .5))) == Numbers{.25, .5});
  auto beside = tyto::compile([&](T a) {
    const T last = fori_loop(0, 5, a, [&](const T&, const T& c) { return matmul(square({1.1, 2.2, 1, 2}), c); });
    const T b = cond(
        sum(a) > 1.0,
        [&] {
          return matmul(square({.1, .2, 1.2, 1.1}), a) + column(1, 0);
        },
        [&] { return a; });
    return (sum(b * column(.6, 3)) + .4) * (sum(last * column(.2, .3)) + 1.0) + .5;
  });
  CHECK(value_of(beside(start)) == doctest::Approx(595.8021786).epsilon(1e-9));
}

BOTH_MODES("a state assigned from outside between runs is what the next run begins with") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(T{1.0, 2.0}, "w");
  auto f = tyto::compile([&](T x) {
    return fori_loop(0, 3, x, [&](const T&, const T& c) {
      assign(w, w * 2);
      return c + w;
    });
  });
  for (const double start : {1.0, 5.0, -3.0}) {
    assign(w, T{start, start + 1});
    CHECK(numbers(f(T{0.0, 0.0})) == Numbers{14 * start, 14 * (start + 1)});
    CHECK(numbers(w) == Numbers{8 * start, 8 * (start + 1)});
  }
}

BOTH_MODES("a run computes anew what depends on what has changed: rows, a captured value, a state") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(T{1.0}, "w");
  auto f = tyto::compile([&](T xs, T captured) {
    return scan([&](const T& c, const T& x) { return std::pair(c * w + x + captured, c); }, T{0.0}, xs).first;
  });
  const auto expected = [](std::vector<double> xs, double captured, double weight) {
    double c = 0;
    for (const double x : xs) c = c * weight + x + captured;
    return Numbers{c};
  };
  const T first = T{{1.0}, {2.0}, {3.0}}, second = T{{4.0}, {5.0}, {6.0}};
  CHECK(numbers(f(first, T{1.0})) == expected({1, 2, 3}, 1, 1));
  CHECK(numbers(f(second, T{1.0})) == expected({4, 5, 6}, 1, 1));
  CHECK(numbers(f(second, T{2.0})) == expected({4, 5, 6}, 2, 1));
  assign(w, T{3.0});
  CHECK(numbers(f(second, T{2.0})) == expected({4, 5, 6}, 2, 3));
}

BOTH_MODES("loops four deep whose carries all change places") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  std::function<Pair(int, const Pair&)> nest = [&](int depth, const Pair& start) -> Pair {
    return fori_loop(0, 3, start, [&, depth](const T& i, const Pair& c) {
      if (depth == 1) return Pair(c.second, c.first + i);
      const Pair inner = nest(depth - 1, Pair(c.second, c.first + 1));
      return Pair(inner.second, inner.first);
    });
  };
  auto f = tyto::compile([&](T a, T b) {
    const Pair last = nest(4, Pair(a, b));
    return std::pair(last.first, last.second);
  });
  std::function<std::pair<double, double>(int, std::pair<double, double>)> plain = [&](int depth, auto c) {
    for (int i = 0; i < 3; ++i) {
      if (depth == 1) {
        c = std::pair(c.second, c.first + i);
      } else {
        const auto inner = plain(depth - 1, std::pair(c.second, c.first + 1));
        c = std::pair(inner.second, inner.first);
      }
    }
    return c;
  };
  const auto expected = plain(4, std::pair(1.0, 10.0));
  const auto found = f(T{1.0}, T{10.0});
  CHECK(numbers(found.first)[0] == expected.first);
  CHECK(numbers(found.second)[0] == expected.second);
}

BOTH_MODES("a tested loop ends in every phase of a delay and of an exchange") {
  using T = tyto::Tensor<Mode>;
  using List = std::vector<T>;
  using State = std::pair<T, List>;
  auto f = tyto::compile([](T n, T x) {
    const State last = while_loop(
        State(T(0).astype(DType::i64), List{x, x * 2, x * 3, x * 5, x * 7}),
        [&](const State& s) { return s.first < n; },
        [](const State& s) {
          const List& c = s.second;
          return State(s.first + 1, List{c[1], c[2], c[0] + c[2], c[4], c[3]});
        });
    return stack(last.second);
  });
  Numbers c{1, 2, 3, 5, 7};
  for (int n = 0; n < 12; ++n) {
    CHECK(numbers(f(T(n).astype(DType::i64), T{1.0})) == c);
    c = {c[1], c[2], c[0] + c[2], c[4], c[3]};
  }
}

TEST_CASE("eight threads run a loop of their own graphs and give the same bits") {
  using T = tyto::Tensor<Lazy>;
  const auto run = [] {
    const T x = T::placeholder({16}, DType::f32, "x");
    const T y = scan([](const T& c, const T& row) { return std::pair(tanh(c + row), c); }, x, T::ones({20, 16})).first;
    tyto::Graph graph({.inputs = {x}, .outputs = {y}});
    std::vector<float> last;
    for (int i = 0; i < 5; ++i) {
      graph.set(x, T::linspace(-1, 1, 16).astype(DType::f32));
      graph.run();
      last = graph.output(0).to_vector<float>();
    }
    return last;
  };
  const std::vector<float> expected = run();
  CHECK(tyto_test::by_clients([&](int) { return run() == expected; }) == "");
}

TEST_CASE("an epoch as one scan takes the memory of one step, whatever the number of batches") {
  using T = tyto::Tensor<Lazy>;
  const T w = T::variable(T::full({32, 8}, 0.1), "w");
  const auto arena = [&](std::int64_t batches) {
    auto f = tyto::compile([&](T xs) {
      return scan(
                 [&](const T& total, const T& x) {
                   auto [loss, gradients] = tyto::value_and_grad(
                       [&](const T& in) { return mean(square(matmul(in, w))); }, std::vector<T>{w})(x);
                   assign(w, w - gradients[0] * 0.01);
                   return std::pair(total + loss, std::vector<T>());
                 },
                 T::full({}, 0.0), xs)
          .first;
    });
    f(T::ones({batches, 16, 32}));
    return f.report().arena_bytes;
  };
  CHECK(arena(3) == arena(60));
}

BOTH_MODES("gradients of loops agree with differences") {
  using T = tyto::Tensor<Mode>;
  const T u = list<T>({0.3, -0.2, 0.1, 0.4}).reshape({2, 2});
  const T xs = list<T>({0.5, -1.0, 0.25, 0.75, -0.5, 0.1}).reshape({3, 2});
  const auto loss = [&](const T& h) {
    const auto [last, rows] = scan(
        [&](const T& c, const T& x) {
          const T next = cond(
              sum(x) > 0.0, [&] { return tanh(matmul(u, c) + x); }, [&] { return sin(c) * x; });
          return std::pair(next, next * c);
        },
        h, xs);
    return sum(square(last)) + sum(rows);
  };
  const Numbers gradient = numbers(tyto::grad(loss)(list<T>({0.2, -0.3})));
  const double step = 1e-5;
  for (int i = 0; i < 2; ++i) {
    const auto at = [&](double d) {
      return value_of(loss(list<T>({0.2 + (i == 0 ? d : 0), -0.3 + (i == 1 ? d : 0)})));
    };
    CHECK(gradient[std::size_t(i)] == doctest::Approx((at(step) - at(-step)) / (2 * step)).epsilon(1e-8));
  }
}

BOTH_MODES("the hessian of a recurrent network agrees with differences of its gradient") {
  using T = tyto::Tensor<Mode>;
  const T xs = list<T>({0.5, -1.0, 0.25, 0.75, -0.5, 0.1}).reshape({3, 2});
  const auto loss = [&](const T& w) {
    return sum(
        scan([&](const T& h, const T& x) { return std::pair(tanh(h * w + x), h); }, T::zeros({2}, DType::f64), xs)
            .first);
  };
  const Numbers found = numbers(tyto::hessian(loss)(list<T>({0.4, -0.6})));
  REQUIRE(found.size() == 4);
  const double step = 1e-5;
  for (int i = 0; i < 2; ++i) {
    const auto gradient = [&](double d) {
      return numbers(tyto::grad(loss)(list<T>({0.4 + (i == 0 ? d : 0), -0.6 + (i == 1 ? d : 0)})));
    };
    const Numbers more = gradient(step), less = gradient(-step);
    for (std::size_t k = 0; k < 2; ++k) {
      const double expected = (more[k] - less[k]) / (2 * step);
      CHECK(std::abs(found[k * 2 + std::size_t(i)] - expected) < 1e-7);
    }
  }
}

BOTH_MODES("arms that keep different things for the gradient, and what one of them alone captures") {
  using T = tyto::Tensor<Mode>;
  using Arm = std::function<T()>;
  const auto f = [](const T& index, const T& x, const T& w) {
    return sum(switch_case(
        index, std::vector<Arm>{[&] { return x * 2; }, [&] { return sin(matmul(w, x)) * x; }, [&] { return exp(x); }}));
  };
  const T x = T{0.5, -0.25}.astype(DType::f64), w = T{{1.0, 2.0}, {3.0, 4.0}}.astype(DType::f64);
  const auto gradients = [&](int index) {
    auto g = tyto::value_and_grad(f, {1, 2});
    return g(T(index).astype(DType::i64), x, w).second;
  };
  CHECK(numbers(gradients(0)[0]) == Numbers{2, 2});
  CHECK(numbers(gradients(0)[1]) == Numbers{0, 0, 0, 0});
  CHECK(numbers(gradients(2)[1]) == Numbers{0, 0, 0, 0});
  CHECK(numbers(gradients(2)[0])[0] == doctest::Approx(std::exp(0.5)).epsilon(1e-14));
  // w x = (0, 0.5): d/dw_ij = cos((w x)_i) x_i x_j
  const Numbers found = numbers(gradients(1)[1]);
  const double at[] = {0.5, -0.25}, inner[] = {0, 0.5};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      CHECK(found[i * 2 + j] == doctest::Approx(std::cos(inner[i]) * at[i] * at[j]).epsilon(1e-14));
    }
  }
}

BOTH_MODES("integers and truths are carried beside what has a gradient") {
  using T = tyto::Tensor<Mode>;
  using State = std::tuple<T, T, T>;
  const auto f = [](const T& x) {
    const State last =
        fori_loop(0, 4, State(x, T(0).astype(DType::i64), T(0).astype(DType::i64) > 0), [](const T&, const State& s) {
          const auto& [c, count, odd] = s;
          return State(where(odd, c * c, c * 3), count + 1, !odd);
        });
    return std::get<0>(last) * std::get<1>(last).astype(DType::f64);
  };
  // 4 (3 (3 x)^2)^2 = 2916 x^4
  CHECK(value_of(tyto::grad(f)(real<T>(0.5))) == doctest::Approx(2916 * 4 * 0.125).epsilon(1e-13));
}

BOTH_MODES("a body stops gradients and brings its own") {
  using T = tyto::Tensor<Mode>;
  const auto stopped = [](const T& x) {
    return fori_loop(0, 3, x, [&](const T&, const T& c) { return c * tyto::stop_gradient(c) + x; });
  };
  // c1 = x x + x with gradient x + 1, c2 = c1 c1 + x with gradient c1 c1' + 1, and so on.
  double c = 0.5, gradient = 1;
  for (int i = 0; i < 3; ++i) {
    gradient = gradient * c + 1;
    c = c * c + 0.5;
  }
  CHECK(value_of(tyto::grad(stopped)(real<T>(0.5))) == doctest::Approx(gradient).epsilon(1e-14));
  const auto own = [](const T& x) {
    const auto tripled =
        tyto::custom_gradient<T>([](const std::vector<T>& in) { return in[0] * 2; },
                                 [](const std::vector<T>&, const T&, const T& g) { return std::vector<T>{g * 3}; });
    return fori_loop(0, 3, x, [&](const T&, const T& v) { return tripled({v}); });
  };
  CHECK(value_of(own(real<T>(1))) == 8);
  CHECK(value_of(tyto::grad(own)(real<T>(1))) == 27);
}

BOTH_MODES("derivatives along a direction go through loops") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](const std::vector<T>& x) {
    return scan([](const T& c, const T& r) { return std::pair(sin(c) * r, c); }, x[0],
                T::arange(1, 6).astype(DType::f64))
        .first;
  };
  const auto [value, along] = tyto::jvp(f, std::vector<T>{real<T>(0.7)}, std::vector<T>{real<T>(2)});
  CHECK(value_of(value) == doctest::Approx(4.87849888).epsilon(1e-8));
  CHECK(value_of(along) == doctest::Approx(-10.93715468).epsilon(1e-8));
}

BOTH_MODES("a loop writes rows of what it carries within a loop, as far as the outer one counts") {
  using T = tyto::Tensor<Mode>;
  auto f = tyto::compile([](T x) {
    return fori_loop(0, 4, x, [](const T& i, const T& outer) {
      return fori_loop(0, i + 1, outer, [&](const T& j, const T& c) { return set(c, {j}, c(j) + i); });
    });
  });
  CHECK(numbers(f(T::zeros({4}))) == Numbers{6, 6, 5, 3});
}

BOTH_MODES("draws in a loop come again once the random state is set back") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor n) {
    return fori_loop(0, n, Tensor::zeros({3}), [](const Tensor&, const Tensor& c) {
      return c * 0.5 + cond(
                           c.sum() > 0.5, [] { return Tensor::uniform({3}); }, [] { return Tensor::normal({3}); });
    });
  });
  const Tensor n = Tensor(std::int64_t{4});
  tyto::seed(3);
  (void)numbers(f(n));
  const tyto::RandomState before = tyto::random_state();
  const Numbers first = numbers(f(n)), second = numbers(f(n));
  CHECK(first != second);
  tyto::random_state(before);
  CHECK(numbers(f(n)) == first);
  CHECK(numbers(f(n)) == second);
}

TEST_CASE("the plan of loops and branches is the same every time it is made, for any number of threads") {
  using T = tyto::Tensor<Lazy>;
  const auto planned = [] {
    const T x = T::placeholder({16, 16}, DType::f32, "x");
    const auto [last, rows] = scan(
        [&](const std::vector<T>& c, const T& row) {
          const T mixed = cond(
              row.sum() > 0.0, [&] { return tanh(matmul(c[0], x)) + row; }, [&] { return c[1] * 2; });
          return std::pair(std::vector<T>{c[1], mixed}, mixed.sum());
        },
        std::vector<T>{x, x * 2}, T::ones({5, 16}));
    const T gradient = tyto::grad([&](const T& at) {
      return while_loop(
                 at, [](const T& v) { return v.sum() < 9.0; }, [&](const T& v) { return v * 2 + at; }, {.most = 5})
          .sum();
    })(x);
    tyto::Graph graph{{.inputs = {x}, .outputs = {last[0], last[1], rows, gradient}}};
    return graph.plan().offsets;
  };
  const int before = tyto::threads();
  const auto expected = planned();
  CHECK(expected.size() > 4);
  for (const int count : {1, 2, 4}) {
    tyto::threads(count);
    for (int again = 0; again < 3; ++again) CHECK(planned() == expected);
  }
  tyto::threads(before);
}

}  // namespace published_cases
