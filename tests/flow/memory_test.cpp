// SPDX-License-Identifier: MIT
// Memory of loops: one iteration's whatever their length, rings of few places, and the least that gradients need.
#include <doctest/doctest.h>

#include <algorithm>
#include <tyto/tyto.hpp>

namespace memory_test {

using tyto::DType;
using Tensor = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Tensor>;
using Pair = std::pair<Tensor, Tensor>;

constexpr std::int64_t batch = 10, features = 4, cells = 16;
constexpr std::size_t state_bytes = batch * cells * sizeof(float);

struct Lstm {
  List weights;
  Lstm() {
    tyto::seed(3);
    for (int gate = 0; gate < 4; ++gate) {
      weights.push_back(Tensor::variable(Tensor::normal({features, cells}, {.stddev = .3})));
      weights.push_back(Tensor::variable(Tensor::normal({cells, cells}, {.stddev = .3})));
      weights.push_back(Tensor::variable(Tensor::zeros({cells})));
    }
  }
  Tensor operator()(const Tensor& xs) const {
    const auto step = [&](const Pair& s, const Tensor& x) {
      const auto gate = [&](std::size_t k) {
        return matmul(x, weights[3 * k]) + matmul(s.first, weights[3 * k + 1]) + weights[3 * k + 2];
      };
      const Tensor c = sigmoid(gate(1)) * s.second + sigmoid(gate(0)) * tanh(gate(3));
      return std::pair(Pair(sigmoid(gate(2)) * tanh(c), c), List{});
    };
    const Tensor zero = Tensor::zeros({batch, cells});
    return scan(step, Pair(zero, zero), xs).first.first;
  }
};

TEST_CASE("a loop's memory does not depend on its length") {
  const Lstm net;
  const auto arena = [&](std::int64_t steps) {
    auto f = tyto::compile([&](Tensor xs) { return net(xs); });
    f(Tensor::ones({steps, batch, features}));
    return f.report().arena_bytes;
  };
  CHECK(arena(5) == arena(500));
}

TEST_CASE("the gradient of an LSTM keeps four gates, output and state of each step") {
  const Lstm net;
  const auto arena = [&](std::int64_t steps) {
    auto f = tyto::compile([&](Tensor xs) {
      return tyto::value_and_grad([&](Tensor in) { return sum(square(net(in))); }, net.weights)(xs).second;
    });
    f(Tensor::ones({steps, batch, features}));
    return f.report().arena_bytes;
  };
  CHECK(arena(300) - arena(100) == 200 * 6 * state_bytes);
}

TEST_CASE("a carry delayed by k takes k + 1 places, results among them") {
  const Tensor w = Tensor::normal({64, 64}, {.stddev = 0.1});
  const auto arena = [&](std::size_t delay) {
    const Tensor p = Tensor::placeholder({64, 64}, DType::f32, "p");
    const List last = fori_loop(0, 9, List(delay, p), [&](const Tensor&, const List& c) {
      List next(c.begin() + 1, c.end());
      next.push_back(matmul(c[0], w));
      return next;
    });
    tyto::Graph graph({.inputs = {p}, .outputs = last});
    return graph.report().arena_bytes;
  };
  // What is computed next while k earlier ones, which lie in the outputs, are still needed; and the table of addresses.
  for (std::size_t delay = 1; delay <= 5; ++delay) {
    CAPTURE(delay);
    CHECK(arena(delay) >= 64 * 64 * sizeof(float));
    CHECK(arena(delay) - arena(1) < 1024);
  }
}

TEST_CASE("the arms of a branch share their memory") {
  const Tensor p = Tensor::placeholder({64, 64}, DType::f32, "p");
  const auto chain = [&](int length) {
    return [&p, length] {
      Tensor x = p;
      for (int i = 0; i < length; ++i) x = matmul(x, p);
      return x;
    };
  };
  const auto arena = [&](const Tensor& y) { return tyto::Graph({.inputs = {p}, .outputs = {y}}).report().arena_bytes; };
  const Tensor truth = p.sum() > 0.0;
  const std::size_t one = arena(cond(truth, chain(4), [&] { return p * 2; }));
  const std::size_t two = arena(cond(truth, chain(4), chain(3)));
  CHECK(two <= one + 1024);
}

constexpr std::int64_t side = 128;
constexpr std::size_t square_bytes = side * side * sizeof(float);

/// The arena of a result of p, and that the graph gives what eager evaluation gives.
template <class Make>
std::size_t arena_of(const Make& make) {
  const Tensor p = Tensor::placeholder({side, side}, DType::f32, "p"), y = make(p);
  const auto numbers = [](auto mode) { return decltype(mode)::linspace(-1, 1, side * side).reshape({side, side}); };
  tyto::Graph graph({.inputs = {p}, .outputs = {y}});
  graph.set(p, numbers(Tensor()));
  graph.run();
  CHECK(graph[y].template to_vector<float>() == make(numbers(tyto::Tensor<tyto::Eager>())).template to_vector<float>());
  return graph.report().arena_bytes;
}

TEST_CASE("a carry delayed by k whose initial values the graph computes takes k + 1 places in all") {
  for (std::int64_t delay = 2; delay <= 5; ++delay) {
    for (std::int64_t length = 0; length <= 12; ++length) {
      CAPTURE(delay);
      CAPTURE(length);
      const std::size_t arena = arena_of([&](const auto& p) {
        std::vector<std::decay_t<decltype(p)>> initial;
        for (std::int64_t i = 0; i < delay; ++i) initial.push_back(cos(p + static_cast<double>(i)));
        const auto last = fori_loop(0, length, initial, [](const auto&, const auto& c) {
          auto next = c;
          std::rotate(next.begin(), next.begin() + 1, next.end());
          next.back() = cumsum(c[0], 0);
          return next;
        });
        std::vector<std::decay_t<decltype(p)>> sums;
        for (const auto& each : last) sums.push_back(sum(each, {0}));
        return stack(sums);
      });
      if (length > 0) CHECK(arena / square_bytes == static_cast<std::size_t>(delay) + 1);
    }
  }
}

TEST_CASE("operands that a branch passes on, or does not touch, are not copied") {
  const auto around = [](const auto& branch) {
    return [branch](const auto& p) { return tyto::sum(branch(matmul(p, p), p)); };
  };
  const auto least = arena_of(around([](const auto& x, const auto&) { return x; }));
  REQUIRE(least >= square_bytes);
  SUBCASE("passed on by one arm, computed element by element by the other") {
    CHECK(arena_of(around([](const auto& x, const auto& p) {
            return cond(
                p.sum() > 5.0, [&] { return x; }, [&] { return x * 2 + 1; });
          })) < least + square_bytes / 2);
  }
  SUBCASE("left alone by one arm") {
    CHECK(arena_of(around([](const auto& x, const auto& p) {
            return cond(
                p.sum() > 5.0, [&] { return x; }, [&] { return p * 3; });
          })) < least + square_bytes / 2);
  }
}

TEST_CASE("a temporary between a carry's last reader and its next value shares the carry's memory") {
  // A temporary four times as large as the carry, of integers: made of the carry's largest and itself read before
  // the next value is computed.
  const auto loop = [](const auto& p) {
    const auto q = floor(p * 4), left = q.reshape({4 * side, side / 4}), right = q.get({tyto::slice(0, side / 4)});
    return tyto::sum(fori_loop(0, 3, q + 1, [&](const auto&, const auto& c) {
      const auto wide = matmul(left, right * max(c));
      return q * (max(wide) % 5.0);
    }));
  };
  constexpr std::size_t wide_bytes = 4 * square_bytes, part_bytes = square_bytes / 4;
  const std::size_t found = arena_of(loop);
  // Beside it q, and the factor; with the carry beside it, a square more.
  MESSAGE(found, " bytes; the temporary takes ", wide_bytes, ", the carry ", square_bytes);
  CHECK(found >= wide_bytes + part_bytes + square_bytes);
  CHECK(found < wide_bytes + part_bytes + square_bytes * 2);
}

TEST_CASE("a loop computes in place of its initial values") {
  const auto around = [](const auto& loop) {
    return [loop](const auto& p) { return tyto::sum(loop(matmul(p, p), p)); };
  };
  const auto least = arena_of(around([](const auto& x, const auto&) { return x; }));
  constexpr std::size_t packed = square_bytes + 4096;  // p, as products read it, for as long as the loop runs
  SUBCASE("in place") {
    CHECK(arena_of(around([](const auto& x, const auto&) {
            return fori_loop(0, 3, x, [](const auto&, const auto& c) { return c * 0.5 + 1; });
          })) < least + square_bytes / 2);
  }
  SUBCASE("in turns with a place of its own, an odd and an even number of times") {
    for (const int trips : {1, 2, 3}) {
      CHECK(arena_of(around([trips](const auto& x, const auto& p) {
              return fori_loop(0, trips, x, [&](const auto&, const auto& c) { return matmul(c, p) * 0.01; });
            })) < least + packed + square_bytes * 3 / 2);
    }
  }
  SUBCASE("until it is told to stop") {
    CHECK(arena_of(around([](const auto& x, const auto& p) {
            return while_loop(
                x, [](const auto& c) { return tyto::sum(abs(c)) > 1.0; },
                [&](const auto& c) { return matmul(c, p) * 0.001; });
          })) < least + packed + square_bytes * 3 / 2);
  }
}

}  // namespace memory_test
