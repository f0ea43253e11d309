// SPDX-License-Identifier: MIT
// Loops whose body is one kernel, which repeats itself: each against the same loop in plain C++, for counts that end
// before, within and after what it does at a time.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "devices/cpu/loop/jit/compile.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/planned_program.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "tests/flow/programs.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace one_kernel {

using flow_programs::real;
using flow_programs::whole;
using tyto::DType;
using tyto_test::doubles;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("a number and a line of numbers in place, by a count that is known or given") {
  using T = tyto::Tensor<Mode>;
  const auto loop = [](const tyto::Count& n, const T& x) {
    return fori_loop(0, n, x, [](const T&, const T& c) { return c * 0.75 + 1.25; });
  };
  auto given = tyto::compile([&](T n, T x) { return loop(n, x); });
  for (const tyto::Shape& shape : {tyto::Shape{}, tyto::Shape{1}, tyto::Shape{3}, tyto::Shape{4, 5}}) {
    Numbers expected(static_cast<std::size_t>(tyto::element_count(shape)));
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 0.5 + static_cast<double>(i);
    const T x = doubles<T>(expected, shape);
    for (std::int64_t n = 0; n < 20; ++n) {
      CAPTURE(n);
      CHECK(numbers(given(whole<T>(n), x)) == expected);
      CHECK(numbers(loop(n, x)) == expected);
      for (double& each : expected) each = each * 0.75 + 1.25;
    }
  }
}

BOTH_MODES("the number of the iteration, counted up and down") {
  using T = tyto::Tensor<Mode>;
  auto up = tyto::compile(
      [](T first, T end, T x) { return fori_loop(first, end, x, [](const T& i, const T& c) { return c * 3 + i; }); });
  for (std::int64_t n = 0; n < 30; ++n) {
    CAPTURE(n);
    std::int64_t expected = 1;
    for (std::int64_t i = 5; i < 5 + n; ++i) expected = expected * 3 + i;
    CHECK(up(whole<T>(5), whole<T>(5 + n), whole<T>(1)).template item<std::int64_t>() == expected);
  }
  // With lines of numbers it is the same for all elements of an iteration.
  auto lines = tyto::compile([](T n, T x) {
    return fori_loop(0, n, x, [](const T& i, const T& c) { return c * 0.5 + i.astype(DType::f64); });
  });
  Numbers expected(37, 2.0);
  for (std::int64_t n = 0; n < 30; ++n) {
    CHECK(numbers(lines(whole<T>(n), T::full({37}, 2.0, DType::f64))) == expected);
    for (double& each : expected) each = each * 0.5 + static_cast<double>(n);
  }
}

BOTH_MODES("conditions on one number, with and without a bound") {
  using T = tyto::Tensor<Mode>;
  const auto doubled = [](const T& x, const T& limit, std::int64_t most) {
    return while_loop(
        x, [&](const T& c) { return c < limit; }, [](const T& c) { return c * 2 + 1; }, {.most = most});
  };
  auto free = tyto::compile([&](T x, T limit) { return doubled(x, limit, 0); });
  auto bounded = tyto::compile([&](T x, T limit) { return doubled(x, limit, 9); });
  for (const double limit : {-1.0, 1.0, 3.0, 4.0, 100.0, 1e6, 1e9}) {
    CAPTURE(limit);
    double expected = 1, within = 1;
    for (; expected < limit;) expected = expected * 2 + 1;
    for (int i = 0; i < 9 && within < limit; ++i) within = within * 2 + 1;
    CHECK(free(real<T>(1), real<T>(limit)).template item<double>() == expected);
    CHECK(bounded(real<T>(1), real<T>(limit)).template item<double>() == within);
  }
}

BOTH_MODES("rows in and out, forwards and backwards, the carry before and after among them") {
  using T = tyto::Tensor<Mode>;
  for (const bool reverse : {false, true}) {
    for (const bool before : {false, true}) {
      for (const std::int64_t rows : {0, 1, 2, 3, 9, 20}) {
        CAPTURE(reverse);
        CAPTURE(before);
        CAPTURE(rows);
        constexpr std::int64_t width = 5;
        Numbers xs;
        for (std::int64_t i = 0; i < rows * width; ++i) xs.push_back(std::cos(static_cast<double>(i)));
        auto f = tyto::compile([&](T c, T x) {
          return scan(
              [before](const T& carry, const T& row) {
                const T next = carry * 0.5 + row;
                return std::pair(next, before ? carry : next);
              },
              c, x, {.reverse = reverse});
        });
        const auto [last, ys] = f(T::full({width}, 0.25, DType::f64), doubles<T>(xs, {rows, width}));
        Numbers c(width, 0.25), expected(xs.size());
        for (std::int64_t t = 0; t < rows; ++t) {
          const std::int64_t row = reverse ? rows - 1 - t : t;
          for (std::int64_t k = 0; k < width; ++k) {
            const auto at = static_cast<std::size_t>(row * width + k);
            double& carry = c[static_cast<std::size_t>(k)];
            if (before) expected[at] = carry;
            carry = carry * 0.5 + xs[at];
            if (!before) expected[at] = carry;
          }
        }
        CHECK(numbers(last) == c);
        CHECK(numbers(ys) == expected);
      }
    }
  }
}

BOTH_MODES("rows of single numbers until one says stop") {
  using T = tyto::Tensor<Mode>;
  auto f = tyto::compile([](T xs, T limit) {
    return scan_until(
        [&](const T& c, const T& x) {
          const T next = c + x;
          return std::tuple(next, next * 2, next >= limit);
        },
        real<T>(0), xs);
  });
  const T xs = T::arange(1, 31).astype(DType::f64);
  for (const double limit : {0.0, 1.0, 2.0, 7.0, 40.0, 300.0, 465.0, 1e6}) {
    CAPTURE(limit);
    const auto [last, ys, count] = f(xs, real<T>(limit));
    double sum = 0;
    Numbers expected(30, 0.0);
    std::int64_t done = 0;
    for (bool stops = false; done < 30 && !stops;) {
      sum += static_cast<double>(done + 1);
      expected[static_cast<std::size_t>(done++)] = sum * 2;
      stops = sum >= limit;
    }
    CHECK(last.template item<double>() == sum);
    CHECK(numbers(ys) == expected);
    CHECK(count.template item<std::int64_t>() == done);
  }
}

BOTH_MODES("a delay whose values lie in their stack") {
  using T = tyto::Tensor<Mode>;
  using List = std::vector<T>;
  for (const std::int64_t rows : {0, 1, 2, 3, 4, 5, 12}) {
    CAPTURE(rows);
    auto f = tyto::compile([](T x) {
      return scan(
          [](const List& c, const T& row) {
            const T next = c[2] * 0.5 + row;
            return std::pair(List{next, c[0], c[1]}, next);
          },
          List{real<T>(1), real<T>(2), real<T>(3)}, x);
    });
    Numbers xs, expected;
    for (std::int64_t i = 0; i < rows; ++i) xs.push_back(0.25 * static_cast<double>(i * i));
    double a = 1, b = 2, c = 3;
    for (const double x : xs) {
      const double next = c * 0.5 + x;
      c = b, b = a, a = next;
      expected.push_back(next);
    }
    const auto [last, ys] = f(doubles<T>(xs, {rows}));
    CHECK(numbers(ys) == expected);
    CHECK(numbers(stack(last)) == Numbers{a, b, c});
  }
}

BOTH_MODES("several carries of several types in one body") {
  using T = tyto::Tensor<Mode>;
  using State = std::tuple<T, T, T, T>;
  auto f = tyto::compile([](T n) {
    const State last = fori_loop(0, n, State(real<T>(1), whole<T>(7), whole<T>(3).astype(DType::i8), real<T>(0) > 1),
                                 [](const T& i, const State& s) {
                                   const auto& [x, count, small, odd] = s;
                                   return State(where(odd, x * 1.5, x + 1), count + i, small * 5, !odd);
                                 });
    const auto& [x, count, small, odd] = last;
    return stack(std::vector<T>{x, count.astype(DType::f64), small.astype(DType::f64), odd.astype(DType::f64)});
  });
  double x = 1, count = 7;
  std::int8_t small = 3;
  bool odd = false;
  for (std::int64_t n = 0; n < 20; ++n) {
    CAPTURE(n);
    CHECK(numbers(f(whole<T>(n))) == Numbers{x, count, static_cast<double>(small), odd ? 1.0 : 0.0});
    x = odd ? x * 1.5 : x + 1;
    count += static_cast<double>(n);
    small = static_cast<std::int8_t>(small * 5);
    odd = !odd;
  }
}

namespace {

using Lazy = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Lazy>;

Lazy given(const tyto::Shape& shape, DType type = DType::f64) { return Lazy::placeholder(shape, type); }

/// Whether the kernel of the only loop behind these tensors does many iterations in a call, by the plan that runs them.
bool is_repeated(const List& results) {
  const std::vector<tyto::Value> outputs(results.begin(), results.end());
  const tyto::run::Executable executable(tyto::run::trace({.outputs = outputs, .updates = {}, .inputs = {}}).graph,
                                         tyto::run::cpu_device(), {.check_plan = true});
  const tyto::run::PlannedRegion* loop = nullptr;
  const tyto::run::PlannedProgram program = planned_program(executable);
  for (const tyto::run::PlannedStep& step : program.steps) {
    if (step.regions == nullptr) continue;
    REQUIRE(loop == nullptr);
    loop = step.regions.get();
  }
  REQUIRE(loop != nullptr);
  REQUIRE(loop->loop != nullptr);
  return loop->repeated;
}

bool is_repeated(const Lazy& result) { return is_repeated(List{result}); }

}  // namespace

TEST_CASE("the kernel repeats itself for bodies that move along rows only, and for no others") {
  if (!tyto::cpu::jit::is_available()) return;
  const auto add = [](const Lazy&, const Lazy& c) { return c * 0.75 + 1.25; };
  const Lazy count = given({}, DType::i64), number = given({}), line = given({128}), rows = given({20, 128});
  SUBCASE("a carry in place, by a count that is known or given") {
    CHECK(is_repeated(tyto::fori_loop(0, 100, number, add)));
    CHECK(is_repeated(tyto::fori_loop(0, count, number, add)));
    CHECK(is_repeated(tyto::fori_loop(0, count, line, add)));
  }
  SUBCASE("the number of the iteration, unless a kernel of its own casts it for a line of numbers") {
    const auto with_number = [](const Lazy& i, const Lazy& c) { return c * 3 + i; };
    CHECK(is_repeated(tyto::fori_loop(0, count, given({}, DType::i64), with_number)));
    CHECK(is_repeated(tyto::fori_loop(0, count, given({128}, DType::i64), with_number)));
    CHECK_FALSE(is_repeated(tyto::fori_loop(0, count, line, with_number)));
  }
  SUBCASE("a condition on one number, but not one on many") {
    const auto doubled = [](const Lazy& c) { return c * 2 + 1; };
    CHECK(is_repeated(tyto::while_loop(
        number, [&](const Lazy& c) { return c < 100.0; }, doubled)));
    CHECK(is_repeated(tyto::while_loop(number, [&](const Lazy& c) { return c < 100.0; }, doubled, {.most = 9})));
    CHECK_FALSE(is_repeated(tyto::while_loop(
        line, [&](const Lazy& c) { return sum(c) < 100.0; }, doubled)));
  }
  SUBCASE("rows in and out, forwards and backwards") {
    for (const bool reverse : {false, true}) {
      const auto [last, ys] =
          tyto::scan([](const Lazy& c, const Lazy& row) { return std::pair(c * 0.5 + row, c * 0.5 + row); }, line, rows,
                     {.reverse = reverse});
      CHECK(is_repeated(List{last, ys}));
    }
  }
  SUBCASE("a delay whose values lie in their stack, but not one that goes round in a ring") {
    const auto next = [](const List& c) { return List{tanh(c[2]), c[0], c[1]}; };
    const List first{line, line + 1, line + 2};
    const auto [last, ys] = tyto::scan(
        [&](const List& c, const Lazy&) {
          const List after = next(c);
          return std::pair(after, after[0]);
        },
        first, rows);
    CHECK(is_repeated(List{last[0], last[1], last[2], ys}));
    CHECK_FALSE(is_repeated(tyto::fori_loop(0, count, first, [&](const Lazy&, const List& c) { return next(c); })));
  }
  SUBCASE("not two kernels, nor a branch, nor draws") {
    CHECK_FALSE(is_repeated(
        tyto::fori_loop(0, count, given({4, 4}), [](const Lazy&, const Lazy& c) { return tanh(matmul(c, c)); })));
    CHECK_FALSE(is_repeated(tyto::fori_loop(0, count, line, [](const Lazy& i, const Lazy& c) {
      return tyto::cond(
          remainder(i, 2) == 0, [&] { return tanh(c); }, [&] { return c; });
    })));
    CHECK_FALSE(is_repeated(tyto::fori_loop(
        0, count, line, [](const Lazy&, const Lazy& c) { return c + Lazy::uniform({128}, {.dtype = DType::f64}); })));
  }
}

}  // namespace one_kernel
