// SPDX-License-Identifier: MIT
// Copies of loops and branches, as reports name them: none where a value may stay in its place.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace moves_test {

using tyto::MovedBytes;
using tyto_test::Numbers;
using tyto_test::numbers;
using Tensor = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Tensor>;
using Pair = std::pair<Tensor, Tensor>;

constexpr std::int64_t side = 64;
constexpr std::size_t bytes = side * side * sizeof(float);

std::vector<MovedBytes> moved(const Tensor& p, const List& results) {
  return tyto::Graph({.inputs = {p}, .outputs = results}).report().moved;
}
Tensor square_input() { return Tensor::placeholder({side, side}, tyto::DType::f32, "p"); }
std::size_t each_iteration(const std::vector<MovedBytes>& list) {
  std::size_t sum = 0;
  for (const MovedBytes& each : list) sum += each.per_iteration;
  return sum;
}
std::size_t each_run(const std::vector<MovedBytes>& list) {
  std::size_t sum = 0;
  for (const MovedBytes& each : list) sum += each.per_run;
  return sum;
}

bool says(const std::vector<MovedBytes>& list, const std::string& value, const std::string& why) {
  return std::ranges::any_of(list, [&](const MovedBytes& each) { return each.value == value && each.why == why; });
}

List delayed(const Tensor& p, std::size_t delay, std::int64_t trips) {
  return fori_loop(0, trips, List(delay, p), [&](const Tensor&, const List& c) {
    List next(c.begin() + 1, c.end());
    next.push_back(matmul(c[0], p));
    return next;
  });
}

TEST_CASE("a delay by k moves nothing, whatever the iteration in which the loop ends") {
  const Tensor p = square_input();
  for (std::size_t delay = 1; delay <= 5; ++delay) {
    for (std::int64_t trips = 5; trips < 12; ++trips) {
      CAPTURE(delay);
      CAPTURE(trips);
      CHECK(moved(p, delayed(p, delay, trips)).empty());
    }
  }
}

TEST_CASE("a delay by two in a loop of one iteration copies the value that is still an initial one") {
  const Tensor p = square_input();
  const std::vector<MovedBytes> list = moved(p, delayed(p, 2, 1));
  // A loop of one iteration: p itself is the result of the first carry.
  CHECK(each_iteration(list) == 0);
  CHECK(each_run(list) == bytes);
}

TEST_CASE("a loop that is told when to end copies the results of a delay once") {
  const Tensor p = square_input();
  const Pair last = while_loop(
      Pair(p, p), [](const Pair& c) { return sum(c.first) < 100.0; },
      [&](const Pair& c) { return Pair(c.second, matmul(c.first, p)); });
  const std::vector<MovedBytes> list = moved(p, {last.first, last.second});
  REQUIRE(list.size() == 2);
  CHECK(each_iteration(list) == 0);
  CHECK(each_run(list) == 2 * bytes);
  CHECK(list[0].why == "where its last value lies depends on the count");
}

TEST_CASE("an exchange of two carries moves nothing in an iteration, and its results once") {
  const Tensor p = square_input();
  const Pair last =
      fori_loop(0, 7, Pair(p + 1, p * 2), [](const Tensor&, const Pair& c) { return Pair(c.second, c.first); });
  const std::vector<MovedBytes> list = moved(p, {last.first, last.second});
  CHECK(each_iteration(list) == 0);
  CHECK(each_run(list) == 2 * bytes);
}

TEST_CASE("a branch in a loop that passes the carry on moves nothing") {
  const Tensor p = square_input();
  const auto loop = [&](const auto& other) {
    return fori_loop(0, 9, p * 2, [&](const Tensor& i, const Tensor& c) {
      return cond(
          i % 2 == 0, [&] { return other(c); }, [&] { return c; });
    });
  };
  SUBCASE("beside one step on each element") {
    CHECK(moved(p, {sum(loop([](const Tensor& c) { return tanh(c); }))}).empty());
  }
  SUBCASE("beside several steps, of which the last does not read it") {
    CHECK(moved(p, {sum(loop([&](const Tensor& c) { return tanh(matmul(tanh(matmul(c, p)), p)); }))}).empty());
  }
  SUBCASE("beside several steps, of which the last reads it element by element") {
    CHECK(moved(p, {sum(loop([&](const Tensor& c) { return c * softmax(matmul(c, p)); }))}).empty());
  }
  SUBCASE("beside a change of one row") {
    CHECK(moved(p, {sum(loop([&](const Tensor& c) { return set(c, {3}, p(5)); }))}).empty());
  }
  SUBCASE("beside a branch and a loop on it") {
    CHECK(moved(p, {sum(loop([&](const Tensor& c) {
                  return fori_loop(0, 3, c, [&](const Tensor& j, const Tensor& d) {
                    return cond(
                        j == 1, [&] { return d; }, [&] { return exp(d); });
                  });
                }))})
              .empty());
  }
}

TEST_CASE("a branch whose operand is read afterwards copies it in the arm that passes it on") {
  const Tensor p = square_input(), x = matmul(p, p);
  const Tensor y = cond(
      sum(p) > 5.0, [&] { return x; }, [&] { return matmul(x, p); });
  const std::vector<MovedBytes> list = moved(p, {sum(matmul(x, y))});
  REQUIRE(list.size() == 1);
  CHECK(list[0].region == "branch");
  CHECK(list[0].value == "result 0 of arm 0");
  CHECK(list[0].why == "it is a value that the region is given");
  CHECK(list[0].per_iteration == 0);
  CHECK(list[0].per_run == bytes);
}

TEST_CASE("setting an element or a row of a carried buffer moves nothing") {
  const Tensor p = square_input();
  SUBCASE("of a number that is counted") {
    CHECK(moved(p, {sum(fori_loop(0, 9, p * 2,
                                  [&](const Tensor& i, const Tensor& c) { return set(c, {i}, sum(c, {0})); }))})
              .empty());
  }
  SUBCASE("of a number that is known") {
    CHECK(moved(p,
                {sum(fori_loop(0, 9, p * 2, [&](const Tensor&, const Tensor& c) { return set(c, {3}, sum(c, {0})); }))})
              .empty());
  }
  SUBCASE("but all of it where the buffer is read once more") {
    const Pair last = fori_loop(0, 9, Pair(p * 2, p(0)), [&](const Tensor& i, const Pair& c) {
      const Tensor next = set(c.first, {i}, c.second);
      return Pair(next, sum(matmul(next, c.first), {0}));
    });
    const std::vector<MovedBytes> list = moved(p, {sum(last.first), last.second});
    CHECK(each_iteration(list) == bytes);
    CHECK(says(list, "carry 0", "scatter changes a part of it, and all of it is still needed"));
  }
}

TEST_CASE("reports name each value that is copied, with the reason") {
  const Tensor p = square_input();
  SUBCASE("a carry that becomes a view") {
    const auto list =
        moved(p, {sum(fori_loop(0, 9, p * 2, [](const Tensor&, const Tensor& c) { return transpose(c); }))});
    REQUIRE(!list.empty());
    CHECK(list[0].region == "loop");
    CHECK(says(list, "carry 0", "it is a view"));
    CHECK(each_iteration(list) == bytes);
  }
  SUBCASE("a value that two carries take") {
    const Pair last = fori_loop(0, 9, Pair(p, p + 1), [&](const Tensor&, const Pair& c) {
      const Tensor next = matmul(c.first, c.second);
      return Pair(next, next);
    });
    CHECK(each_iteration(moved(p, {last.first, last.second})) == bytes);
  }
  SUBCASE("a row that is handed through a scan") {
    const Tensor rows = scan([](const Tensor& c, const Tensor& x) { return Pair(c + x, x); }, p(0), p).second;
    const Tensor doubled = scan([](const Tensor& c, const Tensor& x) { return Pair(c + x, x * 2); }, p(0), p).second;
    CHECK(each_iteration(moved(p, {rows})) == side * sizeof(float));
    CHECK(each_iteration(moved(p, {doubled})) == 0);
  }
  SUBCASE("a carry that is also a stacked result: its last value, once") {
    const Pair last = scan(
        [&](const Tensor& c, const Tensor& x) {
          const Tensor next = tanh(c + x);
          return Pair(next, next);
        },
        p(0), p);
    const auto list = moved(p, {last.first, last.second});
    CHECK(each_iteration(list) == 0);
    CHECK(each_run(list) == side * sizeof(float));
    REQUIRE(list.size() == 1);
    CHECK(list[0].why == "its last value lies in a stack");
  }
  SUBCASE("an initial value that the loop may not write over") {
    const Tensor last = fori_loop(0, 9, p, [](const Tensor&, const Tensor& c) { return c * 2; });
    const auto list = moved(p, {sum(last)});
    CHECK(each_iteration(list) == 0);
    REQUIRE(list.size() == 1);
    CHECK(list[0].per_run == bytes);
    CHECK(list[0].why == "its initial value is not the loop's to write over");
  }
}

TEST_CASE("copies of nested loops are reported under the inner loop") {
  const Tensor p = square_input();
  const Tensor last = fori_loop(0, 3, p * 2, [&](const Tensor&, const Tensor& outer) {
    return outer + fori_loop(0, 5, outer, [&](const Tensor&, const Tensor& inner) { return transpose(inner); });
  });
  tyto::Graph graph({.inputs = {p}, .outputs = {sum(last)}});
  const auto list = graph.report().moved;
  REQUIRE(!list.empty());
  for (const MovedBytes& each : list) CHECK(each.region == "loop/loop");
  CHECK(each_iteration(list) == bytes);
  std::ostringstream text;
  text << graph.report();
  CHECK(text.str().find("loop/loop copies 16384 bytes an iteration of carry 0: it is a view") != std::string::npos);
}

BOTH_MODES("values passed on by arms are the same under every planner, whatever the other arm computes") {
  using Any = tyto::Tensor<Mode>;
  const auto program = [](const Any& x) {
    // Rows of x, doubled twice and then changed: ((x * 4 + 1) set at row 1 to 7), while odd iterations pass it on.
    return fori_loop(0, 5, x * 2, [](const Any& i, const Any& c) {
      return cond(
          i % 2 == 0,
          [&] {
            return set(c, {1}, matmul(c, Any{1.0, 1.0}).sum() + Any{0.0, 0.0}) + 1;
          },
          [&] { return c; });
    });
  };
  // By hand: c = 2, 4; 6, 8. Row 1 becomes the sum of all, and all grow by one, three times.
  // 1: sum 20 -> 3, 5; 21, 21. 2: sum 50 -> 4, 6; 51, 51. 3: sum 112 -> 5, 7; 113, 113.
  const Any x{{1.0, 2.0}, {3.0, 4.0}};
  for (const tyto::MemoryStrategy& each : tyto::memory_strategies()) {
    if (!each.available) continue;
    const std::string strategy(each.name);
    CAPTURE(strategy);
    auto f = tyto::compile(program, tyto::CompileOptions{.memory_strategy = strategy, .poison = true});
    CHECK(numbers(f(x)) == Numbers{5, 7, 113, 113});
  }
}

}  // namespace moves_test
