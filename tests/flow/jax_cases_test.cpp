// SPDX-License-Identifier: MIT
// Cases of JAX's own tests of control flow, by programs of our own with values by hand, by plain C++ and by
// differences; tests/flow/cases.md has the names of theirs.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/flow/programs.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace jax_cases {

using flow_programs::check_gradients;
using flow_programs::check_near;
using flow_programs::real;
using flow_programs::whole;
using tyto::DType;
using tyto_test::doubles;
using tyto_test::finite_differences;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class T>
std::int64_t integer(const T& x) {
  return x.astype(DType::i64).template item<std::int64_t>();
}
template <class T>
double value_of(const T& x) {
  return x.astype(DType::f64).template item<double>();
}

BOTH_MODES("two counters run side by side to a limit inside or outside of the loop") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto counted = tyto::compile([](T first, T limit, T step) {
    return while_loop(
               Pair(first, first * 0), [&](const Pair& s) { return s.first < limit; },
               [&](const Pair& s) { return Pair(s.first + 1, s.second + step); })
        .second;
  });
  CHECK(integer(counted(whole<T>(2), whole<T>(10), whole<T>(1))) == 8);
  CHECK(integer(counted(whole<T>(3), whole<T>(10), whole<T>(1))) == 7);
  CHECK(integer(counted(whole<T>(3), whole<T>(5), whole<T>(4))) == 8);
}

BOTH_MODES("two hundred and fifty-six carries") {
  using List = std::vector<tyto::Tensor<Mode>>;
  const List last = while_loop(
      List(256, whole<tyto::Tensor<Mode>>(0)), [](const List& s) { return s[0] < 2; },
      [](const List& s) {
        List next;
        for (std::size_t i = 0; i < s.size(); ++i) next.push_back(s[i] + static_cast<std::int64_t>(1 + i % 3));
        return next;
      });
  REQUIRE(last.size() == 256);
  for (std::size_t i = 0; i < last.size(); ++i) CHECK(integer(last[i]) == static_cast<std::int64_t>(2 * (1 + i % 3)));
}

BOTH_MODES("an inner loop counts as far as the outer one has come") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto triangle = tyto::compile([](T n) {
    const Pair last = while_loop(
        Pair(n * 0, n * 0), [&](const Pair& s) { return s.first < n; },
        [](const Pair& s) {
          const Pair inner = while_loop(
              Pair(s.first * 0, s.second), [&](const Pair& each) { return each.first <= s.first; },
              [](const Pair& each) { return Pair(each.first + 1, each.second + 1); });
          return Pair(s.first + 1, inner.second);
        });
    return stack(std::vector<T>{last.first, last.second});
  });
  CHECK(numbers(triangle(whole<T>(3))) == Numbers{3, 6});
  CHECK(numbers(triangle(whole<T>(2))) == Numbers{2, 3});
  CHECK(numbers(triangle(whole<T>(4))) == Numbers{4, 10});
  CHECK(numbers(triangle(whole<T>(0))) == Numbers{0, 0});
}

BOTH_MODES("the lower triangle of a matrix, element by element") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto lower = tyto::compile([](T x) {
    return fori_loop(0, 4, T::zeros({4, 4}), [&](const T& i, const T& out) {
      return while_loop(
                 Pair(whole<T>(0), out), [&](const Pair& s) { return s.first <= i; },
                 [&](const Pair& s) {
                   return Pair(s.first + 1, set(s.second, {i, s.first}, x(i, s.first)));
                 })
          .second;
    });
  });
  const T x = T::arange(1, 17).astype(DType::f32).reshape({4, 4});
  CHECK(numbers(lower(x)) == Numbers{1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0, 13, 14, 15, 16});
}

BOTH_MODES("a condition of two parts ends at the first that fails") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto total = tyto::compile([](T x, T n) {
    return while_loop(
               Pair(whole<T>(0), real<T>(0)),
               [&](const Pair& s) { return logical_and(s.first < n, s.first < whole<T>(10)); },
               [&](const Pair& s) { return Pair(s.first + 1, s.second + x(s.first)); })
        .second;
  });
  const T x = T::arange(1, 11).astype(DType::f64);
  const std::pair<std::int64_t, double> cases[] = {{0, 0}, {5, 15}, {10, 55}, {15, 55}};
  for (const auto& [n, expected] : cases) CHECK(value_of(total(x, whole<T>(n))) == expected);
}

BOTH_MODES("a counted loop adds its numbers, what it captures and what it carries unchanged") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto count = tyto::compile(
      [](T n) { return fori_loop(0, n, n * 0, [&](const T& i, const T& sum) { return n + (sum + i); }); });
  for (const std::int64_t n : {2, 3, 4}) CHECK(integer(count(whole<T>(n))) == n * (n - 1) / 2 + n * n);
  auto first = tyto::compile([](T x, T n) {
    return fori_loop(0, minimum(n, whole<T>(10)), Pair(x, real<T>(0)),
                     [](const T& i, const Pair& s) { return Pair(s.first, s.second + s.first(i)); })
        .second;
  });
  const T x = T::arange(1, 11).astype(DType::f64);
  const std::pair<std::int64_t, double> cases[] = {{0, 0}, {5, 15}, {10, 55}, {15, 55}};
  for (const auto& [n, expected] : cases) CHECK(value_of(first(x, whole<T>(n))) == expected);
}

BOTH_MODES("bounds of a count may lie at the ends of their type") {
  using T = tyto::Tensor<Mode>;
  const auto last_number = [](const tyto::Count& lower, const tyto::Count& upper) {
    return integer(fori_loop(lower, upper, whole<T>(0), [](const T& i, const T&) { return i * 1; }));
  };
  CHECK(last_number(INT64_MAX - 3, INT64_MAX) == INT64_MAX - 1);
  CHECK(last_number(INT64_MIN, INT64_MIN + 3) == INT64_MIN + 2);
  CHECK(last_number(std::int64_t{1} << 40, (std::int64_t{1} << 40) + 3) == (std::int64_t{1} << 40) + 2);
  CHECK(last_number(whole<T>(INT64_MAX - 3), whole<T>(INT64_MAX)) == INT64_MAX - 1);
}

BOTH_MODES("a loop of no or of a negative number of iterations gives what it was given") {
  using T = tyto::Tensor<Mode>;
  for (const std::int64_t upper : {0, -1, -100}) {
    CHECK(numbers(fori_loop(0, upper, T{1.0, 2.0}, [](const T&, const T& c) { return c * 3; })) == Numbers{1, 2});
    CHECK(numbers(fori_loop(0, whole<T>(upper), T{1.0, 2.0}, [](const T&, const T& c) { return c * 3; })) ==
          Numbers{1, 2});
  }
}

BOTH_MODES("a branch of one, two and three operands, and of two results") {
  using T = tyto::Tensor<Mode>;
  auto both = tyto::compile([](T x) {
    const auto [a, b] = cond(
        x < 3.0, [](const T& v) { return std::pair(v, v); }, [](const T& v) { return std::pair(v * 2, v * 2 * 2); }, x);
    return stack(std::vector<T>{a, b});
  });
  CHECK(numbers(both(real<T>(2))) == Numbers{2, 2});
  CHECK(numbers(both(real<T>(3))) == Numbers{6, 12});
  CHECK(numbers(both(real<T>(4))) == Numbers{8, 16});
  auto two = tyto::compile([](T x) {
    return cond(
        x == 0.0, [](const T& a, const T& b) { return a + b; }, [](const T& a, const T& b) { return a * b; }, x, x);
  });
  auto three = tyto::compile([](T x) {
    return cond(
        x == 0.0, [](const T& a, const T& b, const T& c) { return a + b + c; },
        [](const T& a, const T& b, const T& c) { return a * b * c; }, x, x + 1, x + 2);
  });
  CHECK(value_of(two(real<T>(0))) == 0);
  CHECK(value_of(two(real<T>(3))) == 9);
  CHECK(value_of(three(real<T>(0))) == 3);
  CHECK(value_of(three(real<T>(3))) == 60);
}

BOTH_MODES("arms by number, of one operand or two, and an only arm whatever the number") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  auto three = tyto::compile([](T i) {
    using Arm = std::function<Pair(const T&)>;
    const auto [a, b] = switch_case(
        i,
        std::vector<Arm>{[](const T& v) { return Pair(v, v); }, [](const T& v) { return Pair(v * 2, v * 2 * 2); },
                         [](const T& v) { return Pair(v, -v); }},
        i);
    return stack(std::vector<T>{a, b});
  });
  const std::pair<std::int64_t, Numbers> cases[] = {
      {-1, {-1, -1}}, {0, {0, 0}}, {1, {2, 4}}, {2, {2, -2}}, {3, {3, -3}}};
  for (const auto& [i, expected] : cases) CHECK(numbers(three(whole<T>(i))) == expected);
  auto two = tyto::compile([](T i) {
    using Arm = std::function<T(const T&, const T&)>;
    return switch_case(
        i, std::vector<Arm>{[](const T& a, const T& b) { return a + b; }, [](const T& a, const T& b) { return a * b; }},
        i, i + 1);
  });
  CHECK(integer(two(whole<T>(-1))) == -1);
  CHECK(integer(two(whole<T>(0))) == 1);
  CHECK(integer(two(whole<T>(1))) == 2);
  CHECK(integer(two(whole<T>(5))) == 30);
  auto only = tyto::compile([](T i, T x) {
    return switch_case(i, std::vector<std::function<T(const T&)>>{[](const T& v) { return -v; }}, x);
  });
  for (const std::int64_t i : {-1, 0, 1}) CHECK(value_of(only(whole<T>(i), real<T>(7))) == -7);
}

BOTH_MODES("branches within branches, constants in one arm, and constants of arms") {
  using T = tyto::Tensor<Mode>;
  using Three = std::tuple<T, T, T>;
  auto nested = tyto::compile([](T x) {
    return cond(
        x < 2.0, [&] { return x * 2; },
        [&] {
          return cond(
              x < 5.0, [&] { return x * 3; }, [&] { return x * 4; });
        });
  });
  CHECK(value_of(nested(real<T>(1))) == 2);
  CHECK(value_of(nested(real<T>(3))) == 9);
  CHECK(value_of(nested(real<T>(6))) == 24);
  auto constant = tyto::compile([](T x) {
    return cond(
        x < 3.0, [] { return real<T>(5); }, [&] { return x; });
  });
  CHECK(value_of(constant(real<T>(0))) == 5);
  CHECK(value_of(constant(real<T>(4))) == 4);
  auto several = tyto::compile([](T x) {
    const auto [a, b, c] = cond(
        x < 3.0, [] { return Three(real<T>(1), real<T>(2), real<T>(3)); },
        [&] { return Three(x, real<T>(2), real<T>(4)); });
    return stack(std::vector<T>{a, b, c});
  });
  CHECK(numbers(several(real<T>(0))) == Numbers{1, 2, 3});
  CHECK(numbers(several(real<T>(4))) == Numbers{4, 2, 4});
  auto scaled = tyto::compile([](T x) {
    return cond(
        x < 2.0,
        [&] {
          return doubles<T>({1, 2}, {2}) * x;
        },
        [&] {
          return doubles<T>({3, 4}, {2}) * sin(x);
        });
  });
  CHECK(numbers(scaled(real<T>(1))) == Numbers{1, 2});
  check_near(numbers(scaled(real<T>(4))), {3 * std::sin(4.0), 4 * std::sin(4.0)}, 1e-15);
}

BOTH_MODES("an only tested loop whose condition is known") {
  using T = tyto::Tensor<Mode>;
  const auto run = [](double condition, std::int64_t most) {
    return value_of(while_loop(
        real<T>(1), [&](const T&) { return real<T>(condition) > 0.5; }, [](const T& c) { return c * 2; },
        {.most = most}));
  };
  CHECK(run(0, 5) == 1);
  CHECK(run(1, 5) == 32);
}

// A carry of four numbers and rows of three, with a number a row.
template <class T>
auto shared_scan(const T& c, const T& rows, const T& d) {
  return scan(
      [&](const T& state, const T& row) {
        const T b = cos(sum(sin(row)) + sum(cos(state)) + sum(tan(d)));
        return std::pair(sin(state * b), b);
      },
      c, rows);
}
const Numbers scan_carry{0.3, -1.1, 0.7, 1.9}, scan_captured{0.4, -0.9};
const Numbers scan_rows{0.1, 0.5, -0.3, 1.2, -0.8, 0.6, 0.2, 0.9, -1.4, 0.7, -0.2, 0.35, 0.05, -0.6, 0.8};

BOTH_MODES("a scan gives what the plain loop gives") {
  using T = tyto::Tensor<Mode>;
  auto f = tyto::compile([](T c, T rows, T d) { return shared_scan(c, rows, d); });
  const auto [last, ys] = f(doubles<T>(scan_carry, {4}), doubles<T>(scan_rows, {5, 3}), doubles<T>(scan_captured, {2}));
  Numbers c = scan_carry, expected;
  for (std::size_t i = 0; i < 5; ++i) {
    double b = std::tan(scan_captured[0]) + std::tan(scan_captured[1]);
    for (std::size_t k = 0; k < 3; ++k) b += std::sin(scan_rows[i * 3 + k]);
    for (const double each : c) b += std::cos(each);
    b = std::cos(b);
    for (double& each : c) each = std::sin(each * b);
    expected.push_back(b);
  }
  check_near(numbers(last), c, 1e-13);
  check_near(numbers(ys), expected, 1e-13);
}

BOTH_MODES("a scan's gradients by its carry, its rows and what it captures, of first and second order") {
  using T = tyto::Tensor<Mode>;
  const T c = doubles<T>(scan_carry, {4}), rows = doubles<T>(scan_rows, {5, 3}), d = doubles<T>(scan_captured, {2});
  const auto loss = [](const auto& results) {
    return sum(square(results.first)) + sum(results.second * results.second * results.second);
  };
  SUBCASE("by the carry") {
    check_gradients<T>([&](const T& x) { return loss(shared_scan(x, rows, d)); }, scan_carry, {4});
  }
  SUBCASE("by the rows") {
    check_gradients<T>([&](const T& x) { return loss(shared_scan(c, x, d)); }, scan_rows, {5, 3});
  }
  SUBCASE("by what is captured") {
    check_gradients<T>([&](const T& x) { return loss(shared_scan(c, rows, x)); }, scan_captured, {2});
  }
}

BOTH_MODES("a scan's derivatives along a direction") {
  using T = tyto::Tensor<Mode>;
  const T d = doubles<T>(scan_captured, {2});
  const auto f = [&](const std::vector<T>& in) {
    const auto [last, ys] = shared_scan(in[0], in[1], d);
    return sum(square(last)) + sum(ys);
  };
  const std::vector<T> at{doubles<T>(scan_carry, {4}), doubles<T>(scan_rows, {5, 3})};
  const auto [value, along] = tyto::jvp(f, at, at);  // towards themselves: d/dt f((1 + t) at)
  const double step = 1e-5;
  const auto scaled = [&](double by) { return value_of(f({at[0] * by, at[1] * by})); };
  CHECK(value_of(value) == scaled(1));
  CHECK(value_of(along) == doctest::Approx((scaled(1 + step) - scaled(1 - step)) / (2 * step)).epsilon(1e-8));
}

BOTH_MODES("a recurrent network of concatenated state and input") {
  using T = tyto::Tensor<Mode>;
  const Numbers trans{0.5, -0.2, 0.3, 0.8, -0.6, 0.1, -0.4, 0.7, 0.2, -0.9, 0.35, 0.6};
  const T out = doubles<T>({0.9, -0.3, 0.25, -0.7, 0.5, 0.15}, {1, 6});
  const T inputs = doubles<T>({0.1, 0.9, -0.4, 0.3, -0.8, 0.2, 0.6, -0.5, 0.7, -0.1, 0.25, 0.45}, {3, 4});
  const T targets = doubles<T>({0.5, -0.5, 0.25}, {3, 1});
  const auto loss = [&](const T& w) {
    const T predicted = scan(
                            [&](const T& state, const T& x) {
                              const T both = concat(std::vector<T>{state, x}, 0);
                              return std::pair(tanh(matmul(w, both)), tanh(matmul(out, both)));
                            },
                            T::zeros({2}, DType::f64), inputs)
                            .second;
    return sum(square(predicted - targets));
  };
  check_gradients<T>(loss, trans, {2, 6});
}

BOTH_MODES("a scan whose body takes a gradient, and a loss of what it comes to") {
  using T = tyto::Tensor<Mode>;
  using Pair = std::pair<T, T>;
  const auto loss = [](const T& weight) {
    const auto energy = [&](const T& x) { return sum(x * weight); };
    const auto [last, none] = scan(
        [&](const Pair& carry, const T& row) {
          return std::pair(Pair(carry.first + 1, carry.second - 0.1 * tyto::grad(energy)(carry.second)), row);
        },
        Pair(whole<T>(0), doubles<T>({1, 2, 3}, {3})), T::zeros({75, 0}));
    return sum(sin(1.0 - last.second));
  };
  // Each of the three has come to x0 - 7.5 weight.
  double value = 0, gradient = 0;
  for (const double x : {1.0, 2.0, 3.0}) {
    value += std::sin(1 - (x - 7.5 * 0.25));
    gradient += 7.5 * std::cos(1 - (x - 7.5 * 0.25));
  }
  CHECK(value_of(loss(real<T>(0.25))) == doctest::Approx(value).epsilon(1e-12));
  CHECK(value_of(tyto::grad(loss)(real<T>(0.25))) == doctest::Approx(gradient).epsilon(1e-12));
  // Ten iterations of the gradient of the cosine, differentiated.
  const auto iterated = [](const T& x) {
    return scan([](const T& c,
                   const T& row) { return std::pair(tyto::grad([](const T& a) { return cos(a); })(c), row); },
                x, T::arange(10))
        .first;
  };
  check_near(numbers(tyto::grad(iterated)(real<T>(0.5))), finite_differences<T>(iterated, {0.5}, {}), 1e-7);
}

BOTH_MODES("derivatives of second order of a scan whose body mixes carry and row twice") {
  using T = tyto::Tensor<Mode>;
  const auto loss = [](const T& c, const T& rows) {
    const auto [last, ys] = scan(
        [](const T& state, const T& row) {
          return std::pair(0.9 * cos(0.75 * sum(sin(state * row))), sin(state * sum(cos(0.75 * row))));
        },
        c, rows);
    return last + sum(square(ys));
  };
  const Numbers rows{0, 1, 2, 3, 4, 5};
  const T fixed = doubles<T>(rows, {3, 2});
  check_gradients<T>([&](const T& c) { return loss(c, fixed); }, {1}, {});
  check_gradients<T>([&](const T& xs) { return loss(real<T>(1), xs); }, rows, {3, 2});
}

BOTH_MODES("branches have the gradients and curvatures of the arm that runs") {
  using T = tyto::Tensor<Mode>;
  const auto two = [](const T& x) {
    return cond(
        x < 2.0, [&] { return 3.0 * x * x; }, [&] { return sin(x) * x; });
  };
  for (const double x : {2.14, 1.72}) check_gradients<T>(two, {x}, {});
  const auto by_number = [](const T& x) {
    using Arm = std::function<T(const T&)>;
    return switch_case(floor(x).astype(DType::i32),
                       std::vector<Arm>{[](const T& v) { return 3.0 * v; }, [](const T& v) { return sin(v); },
                                        [](const T& v) { return -v * v; }},
                       x);
  };
  for (const double x : {-0.7, 0.7, 1.7, 2.7, 3.7}) check_gradients<T>(by_number, {x}, {});
  const auto lines = [](const T& x) {
    return sum(cond(
        x(0) < 2.0,
        [&] {
          return doubles<T>({1, 2}, {2}) * x * x;
        },
        [&] { return cos(sin(x)); }));
  };
  check_gradients<T>(lines, {2.14, 2.14}, {2});
  check_gradients<T>(lines, {1.72, 1.72}, {2});
}

BOTH_MODES("an arm that is a constant has no gradient, and what only one arm captures has none in the other") {
  using T = tyto::Tensor<Mode>;
  const auto constant = [](const T& x) {
    return cond(
        x < 3.0, [] { return real<T>(2); }, [&] { return 2.0 * x; });
  };
  CHECK(value_of(tyto::grad(constant)(real<T>(3.14))) == 2);
  CHECK(value_of(tyto::grad(constant)(real<T>(2.72))) == 0);
  const auto captured = [](const T& x, const T& y) {
    return cond(
        x < 3.0, [&] { return 2.0 * sin(y); }, [&] { return 2.0 * x; });
  };
  const auto by = [&](double x) {
    auto f = tyto::value_and_grad(captured, {0, 1});
    const auto gradients = f(real<T>(x), real<T>(5.8)).second;
    return Numbers{value_of(gradients[0]), value_of(gradients[1])};
  };
  CHECK(by(3.14) == Numbers{2, 0});
  check_near(by(2.72), {0, 2 * std::cos(5.8)}, 1e-15);
}

BOTH_MODES("one arm hands its operand on and another adds to it: both have a gradient of one") {
  using T = tyto::Tensor<Mode>;
  using Arm = std::function<T(const T&)>;
  const auto f = [](const T& x) {
    return switch_case(x.astype(DType::i32),
                       std::vector<Arm>{[](const T& v) { return v; }, [](const T& v) { return v + T::ones({}); }}, x);
  };
  for (const double x : {0.0, 1.0}) CHECK(value_of(tyto::grad(f)(T::full({}, x))) == 1);
}

BOTH_MODES("derivatives along a direction through branches and a tested loop") {
  using T = tyto::Tensor<Mode>;
  const auto branch = [](const std::vector<T>& in) {
    const auto [a, b] = cond(
        in[0] < 3.0, [&] { return std::pair(in[0], in[0]); }, [&] { return std::pair(in[0] * 2, in[0] * 2 * in[0]); });
    return a + b;
  };
  const auto along = [](const auto& f, const Numbers& at, const Numbers& direction) {
    std::vector<T> x, d;
    for (const double each : at) x.push_back(real<T>(each));
    for (const double each : direction) d.push_back(real<T>(each));
    return value_of(tyto::jvp(f, x, d).second);
  };
  CHECK(along(branch, {3.0}, {1.5}) == (2 + 4 * 3.0) * 1.5);
  CHECK(along(branch, {2.5}, {1.5}) == 3);
  // x doubled while it is below a hundred; and a tangent that comes to the others one iteration after the other.
  const auto doubled = [](const std::vector<T>& in) {
    return while_loop(
        in[0], [](const T& c) { return c < 100.0; }, [](const T& c) { return c * 2; }, {.most = 20});
  };
  CHECK(along(doubled, {3.0}, {1.0}) == 64);
  using Five = std::vector<T>;
  const auto grows = [](const std::vector<T>& in) {
    const Five last = while_loop(
        Five{real<T>(0), real<T>(1), real<T>(2), in[0], in[1]}, [](const Five& c) { return c[0] < 5.0; },
        [](const Five& c) {
          return Five{c[0] + 1, c[1] + c[2] * 0.5, c[2] + c[3], c[3] + c[4], c[4] * 1.0};
        },
        {.most = 8});
    return last[1];
  };
  // c1 after five iterations: the coefficients of the third difference, 10 / 2, and of the fourth, 10 / 2.
  CHECK(along(grows, {3.0, 4.0}, {1.0, 0.0}) == 5);
  CHECK(along(grows, {3.0, 4.0}, {0.0, 1.0}) == 5);
}

BOTH_MODES("a loop without rows has its number alone, forwards and backwards") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](bool reverse) {
    const auto [last, ys] = scan([](const T& c, const T&) { return std::pair(c + 1, c * 2); }, real<T>(0),
                                 T::zeros({4, 0}), {.reverse = reverse});
    Numbers all = numbers(ys);
    all.push_back(value_of(last));
    return all;
  };
  CHECK(f(false) == Numbers{0, 2, 4, 6, 4});
  CHECK(f(true) == Numbers{6, 4, 2, 0, 4});
  const auto [last, none] = scan([](const T& c, const T& row) { return std::pair(c + row, c); }, real<T>(3),
                                 T::zeros({0}, DType::f64), {.reverse = true});
  CHECK(value_of(last) == 3);
  CHECK(none.shape() == tyto::Shape{0});
}

BOTH_MODES("what a body hands on as it was, captures twice or reads alone is the same after passes") {
  using T = tyto::Tensor<Mode>;
  using List = std::vector<T>;
  auto f = tyto::compile([](T x, T y) {
    // c[0] and c[3] stay as they were, c[1] reads them, c[2] becomes the row, rows are handed out as they came.
    const auto [last, ys] = scan(
        [&](const List& c, const T& row) {
          return std::pair(List{c[0], c[1] * c[0] + c[3] + sin(y), row, c[3]}, std::pair(row, std::pair(c[2], c[0])));
        },
        List{x(0), real<T>(1), real<T>(0), y}, x);
    return std::vector<T>{
        last[0], last[1], last[2], last[3], sum(ys.first), sum(ys.second.first), sum(ys.second.second)};
  });
  const std::vector<T> found = f(doubles<T>({0.5, 2, 3}, {3}), real<T>(0.25));
  double carried = 1;
  for (int i = 0; i < 3; ++i) carried = carried * 0.5 + 0.25 + std::sin(0.25);
  const Numbers expected{0.5, carried, 3, 0.25, 5.5, 2.5, 1.5};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(value_of(found[i]) == doctest::Approx(expected[i]).epsilon(1e-14));
}

BOTH_MODES("a tested loop differentiates only what a gradient reaches in the end") {
  using T = tyto::Tensor<Mode>;
  using List = std::vector<T>;
  // The gradient comes from the third carry to the second after one iteration and to the first after two.
  const auto f = [](const T& x) {
    const List last = while_loop(
        List{x, real<T>(0), real<T>(0), real<T>(0)}, [](const List& c) { return c[3] < 3.0; },
        [](const List& c) {
          return List{c[0] * 2, sin(c[0]) + c[1], c[1] * c[1] + c[2], c[3] + 1};
        },
        {.most = 5});
    return last[2];
  };
  check_gradients<T>(f, {0.3}, {});
  const auto rows = [](const T& x) {
    return scan([&](const std::pair<T, T>& c,
                    const T& row) { return std::pair(std::pair(c.second, sin(c.first) * row + x), c.first); },
                std::pair(real<T>(0), real<T>(0)), doubles<T>({1, 2, 3, 4}, {4}))
               .first.first *
           x;
  };
  check_gradients<T>(rows, {0.3}, {});
}

TEST_CASE("a scan's gradient keeps its rows and what it stacks only once") {
  using T = tyto::Tensor<tyto::Lazy>;
  constexpr std::int64_t cells = 64;
  const auto arena = [](std::int64_t rows, bool reads_stack) {
    auto f = tyto::compile([reads_stack](T xs, T w) {
      return tyto::value_and_grad(
                 [reads_stack](const T& in, const T& weights) {
                   const auto [last, ys] = scan(
                       [&](const T& c, const T& x) {
                         const T next = tanh(matmul(weights, c) * x);
                         return std::pair(next, next);
                       },
                       T::zeros({cells}), in);
                   return reads_stack ? sum(last) + sum(ys * ys) : sum(last);
                 },
                 {0, 1})(xs, w)
          .second;
    });
    f(T::ones({rows, cells}), T::ones({cells, cells}));
    return f.report().arena_bytes;
  };
  // The product and the state of each row; the rows themselves are an argument. What is stacked is the state.
  const std::size_t row = cells * sizeof(float);
  CHECK(arena(300, false) - arena(100, false) == 200 * 2 * row);
  // And the gradient that the stack has.
  CHECK(arena(300, true) - arena(100, true) <= 200 * 3 * row);
}

}  // namespace jax_cases
