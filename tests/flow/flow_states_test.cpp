// SPDX-License-Identifier: MIT
// States, random numbers and exceptions in the bodies of loops and branches.
#include <doctest/doctest.h>

#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("a scan takes one draw of those that follow it, however many rows it has") {
  using Tensor = tyto::Tensor<Mode>;
  const auto after = [](std::int64_t rows, bool until) {
    tyto::seed(1);
    const Tensor xs = Tensor::zeros({rows});
    if (until) {
      const auto body = [](const Tensor& c, const Tensor& x) {
        const Tensor next = c + x * Tensor::normal({});
        return std::tuple(next, next, next > 1e9);
      };
      tyto::eval({std::get<0>(scan_until(body, Tensor::full({}, 0.0), xs))});
    } else {
      const auto body = [](const Tensor& c, const Tensor& x) {
        const Tensor next = c + x * Tensor::normal({});
        return std::pair(next, next);
      };
      tyto::eval({scan(body, Tensor::full({}, 0.0), xs).first});
    }
    return numbers(Tensor::uniform({3}));
  };
  for (const bool until : {false, true}) CHECK(after(0, until) == after(2, until));
}

BOTH_MODES("states are read and assigned to in bodies as in plain lines") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w");
  const Tensor untouched = Tensor::variable(Tensor{5.0, 5.0}, "untouched");
  auto step = tyto::compile([&](Tensor x) {
    return fori_loop(0, 3, x, [&](const Tensor&, const Tensor& c) {
      const Tensor before = c + w;
      assign(w, w * 2 + untouched);
      return before + w;
    });
  });
  std::vector<double> state{1, 2};
  for (int call = 0; call < 3; ++call) {
    std::vector<double> x{0, 1};
    for (int i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 2; ++k) {
        x[k] += state[k];
        state[k] = state[k] * 2 + 5;
        x[k] += state[k];
      }
    }
    CHECK(numbers(step(Tensor{0.0, 1.0})) == x);
    CHECK(numbers(w) == state);
    CHECK(numbers(untouched) == Numbers{5, 5});
  }
}

BOTH_MODES("a state assigned in one arm, or in a loop that does not run, keeps its value otherwise") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0}, "w");
  const Tensor v = Tensor::variable(Tensor{10.0}, "v");
  auto f = tyto::compile([&](Tensor choose, Tensor count) {
    const Tensor y = cond(
        choose > 0,
        [&] {
          assign(w, w + 1);
          return w * 1;
        },
        [&] {
          assign(v, v + w);
          return v * 1;
        });
    return fori_loop(0, count, y, [&](const Tensor&, const Tensor& c) {
      assign(w, w * 3);
      return c + v;
    });
  });
  const auto call = [&](double choose, std::int64_t count) {
    return numbers(f(Tensor::full({}, choose), Tensor(count).astype(DType::i64)))[0];
  };
  CHECK(call(1, 0) == 2);
  CHECK(numbers(w)[0] == 2);
  CHECK(numbers(v)[0] == 10);
  CHECK(call(-1, 0) == 12);
  CHECK(numbers(w)[0] == 2);
  CHECK(numbers(v)[0] == 12);
  CHECK(call(1, 2) == 3 + 2 * 12);
  CHECK(numbers(w)[0] == 27);
  CHECK(numbers(v)[0] == 12);
}

TEST_CASE("lazy lines outside of a compiled function read and assign states in loops, too") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor w = Tensor::variable(Tensor{1.0}, "w");
  const Tensor y = fori_loop(0, 4, Tensor{0.0}, [&](const Tensor&, const Tensor& c) {
    assign(w, w + 1);
    return c + w;
  });
  CHECK(numbers(w) == Numbers{5});
  CHECK(numbers(y) == Numbers{2 + 3 + 4 + 5});
}

TEST_CASE("random numbers in bodies are those of eager mode, whatever the number of iterations elsewhere") {
  const auto drawn = []<class M>(const tyto::Tensor<M>& count) {
    using Tensor = tyto::Tensor<M>;
    auto f = tyto::compile([](Tensor n) {
      const Tensor before = Tensor::uniform({2});
      const Tensor skipped = fori_loop(0, n, Tensor::zeros({2}), [](const Tensor&, const Tensor& c) {
        const Tensor inner = cond(
            c.sum() > 1.0, [] { return Tensor::uniform({2}); }, [] { return Tensor::normal({2}); });
        return c + Tensor::uniform({2}) + inner;
      });
      const auto [last, rows] =
          scan([](const Tensor& c,
                  const Tensor& x) { return std::pair(c, x * Tensor::bernoulli({4}, {.probability = 0.5})); },
               Tensor::full({}, 0.0), Tensor::ones({5, 4}));
      return concat(std::vector<Tensor>{before, skipped, rows.reshape({20}), Tensor::uniform({3})});
    });
    Numbers all;
    tyto::seed(7);
    for (int call = 0; call < 3; ++call) {
      for (const double value : numbers(f(count))) all.push_back(value);
    }
    return all;
  };
  const auto count = [](auto mode, int n) { return decltype(mode)(n).astype(DType::i64); };
  const Numbers eager = drawn(count(tyto::Tensor<Eager>(), 3));
  CHECK(eager == drawn(count(tyto::Tensor<Lazy>(), 3)));
  const Numbers others = drawn(count(tyto::Tensor<Lazy>(), 5));
  REQUIRE(eager.size() == 3 * 27);
  CHECK(Numbers(eager.begin() + 4, eager.begin() + 27) == Numbers(others.begin() + 4, others.begin() + 27));
  CHECK(Numbers(eager.begin() + 2, eager.begin() + 4) != Numbers(others.begin() + 2, others.begin() + 4));
  // Rows differ from one another and from call to call.
  CHECK(Numbers(eager.begin() + 4, eager.begin() + 24) != Numbers(eager.begin() + 31, eager.begin() + 51));
}

TEST_CASE("an exception out of an iteration leaves the graph ready to run again") {
  using Tensor = tyto::Tensor<Lazy>;
  int calls = 0;
  int fails_at = 3;
  const Tensor p = Tensor::placeholder({1}, DType::f32, "p");
  const Tensor y = fori_loop(0, 5, p, [&](const Tensor&, const Tensor& c) {
    return tyto::delay<Lazy>({1}, DType::f32,
                             [&](const std::vector<tyto::Tensor<Eager>>& in) {
                               if (++calls == fails_at) throw tyto::ValueError("three");
                               return in[0] + 1.0;
                             },
                             {c});
  });
  tyto::Graph graph({.inputs = {p}, .outputs = {y}});
  graph.set(p, Tensor{1.0});
  CHECK_THROWS_WITH_AS(graph.run(), "three", tyto::ValueError);
  CHECK(calls == 3);
  fails_at = 0;
  graph.run();
  CHECK(numbers(graph.output(0)) == Numbers{6});
}
