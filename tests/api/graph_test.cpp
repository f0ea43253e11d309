// SPDX-License-Identifier: MIT
// Explicit graphs: inputs set, runs, results kept, states updated, all by the public interface.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace graph_test {

using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto::all;
using tyto::DType;
using tyto::Graph;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

TEST_CASE("a graph runs with its inputs as they were set last") {
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor y = Tensor::placeholder({2}, DType::f32, "y");
  const Tensor sum = x + y, product = x * y;
  Graph g{{.inputs = {x, y}, .outputs = {sum, product}}};
  g.set(x, Tensor{1.0, 2.0});
  g.set(y, Tensor{10.0, 10.0});
  g.run();
  CHECK(numbers(g[sum]) == Numbers{11, 12});
  CHECK(numbers(g.output(1)) == Numbers{10, 20});
  g.set(x, Tensor{0.0, 0.0});
  g.run();
  CHECK(numbers(g[sum]) == Numbers{10, 10});
  CHECK(numbers(g[product]) == Numbers{0, 0});
}

TEST_CASE("results are held across runs") {
  const Tensor x = Tensor::placeholder({3});
  const Tensor doubled = x * 2, part = std::as_const(x)(slice(1, 3)), flipped = flip(doubled);
  Graph g{{.inputs = {x}, .outputs = {doubled, part, flipped, x}}};
  std::vector<std::vector<Tensor>> held;
  for (int i = 0; i < 4; ++i) {
    g.set(x, Tensor::full({3}, i, DType::f32));
    g.run();
    held.push_back({g[doubled], g[part], g[flipped], g[x]});
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto n = static_cast<double>(i);
    CHECK(numbers(held[i][0]) == Numbers{2 * n, 2 * n, 2 * n});
    CHECK(numbers(held[i][1]) == Numbers{n, n});
    CHECK(numbers(held[i][2]) == Numbers{2 * n, 2 * n, 2 * n});
    CHECK(numbers(held[i][3]) == Numbers{n, n, n});
  }
}

TEST_CASE("outputs may be views, inputs, constants, each other, and named twice") {
  const Tensor x = Tensor::placeholder({2, 2});
  const Tensor constant = Tensor::constant(Tensor{7.0});
  const Tensor y = x + 1;
  const Tensor view = y.T();
  Graph g{{.inputs = {x}, .outputs = {x, y, y, view, std::as_const(view)(0), constant, x, Tensor::zeros({2})}}};
  g.set(x, Tensor{{1.0, 2.0}, {3.0, 4.0}});
  for (int round = 0; round < 2; ++round) {
    g.run();
    CHECK(numbers(g.output(0)) == Numbers{1, 2, 3, 4});
    CHECK(numbers(g.output(1)) == Numbers{2, 3, 4, 5});
    CHECK(numbers(g.output(2)) == Numbers{2, 3, 4, 5});
    CHECK(numbers(g.output(3)) == Numbers{2, 4, 3, 5});
    CHECK(numbers(g.output(4)) == Numbers{2, 4});
    CHECK(numbers(g.output(5)) == Numbers{7});
    CHECK(numbers(g.output(6)) == Numbers{1, 2, 3, 4});
    CHECK(numbers(g.output(7)) == Numbers{0, 0});
  }
}

TEST_CASE("updates are made at the end of each run, with outputs or without") {
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w");
  const Tensor x = Tensor::placeholder({2});
  {
    Graph g{{.inputs = {x}, .outputs = {}, .updates = {{w, w * x}}}};
    g.set(x, Tensor{2.0, 3.0});
    g.run();
    g.run();
    CHECK(numbers(w) == Numbers{4, 18});
  }
  const Tensor before = w + 0, next = w - x;
  Graph g{{.inputs = {x}, .outputs = {before, next}, .updates = {{w, next}}}};
  g.set(x, Tensor{1.0, 1.0});
  g.run();
  CHECK(numbers(g[before]) == Numbers{4, 18});
  CHECK(numbers(g[next]) == Numbers{3, 17});
  CHECK(numbers(w) == Numbers{3, 17});
  const Tensor held = g[next];
  g.run();
  CHECK(numbers(held) == Numbers{3, 17});
  CHECK(numbers(w) == Numbers{2, 16});
}

TEST_CASE("states exchange, rotate, and read parts of each other") {
  const Tensor a = Tensor::persistent(Tensor{1.0, 2.0});
  const Tensor b = Tensor::persistent(Tensor{3.0, 4.0});
  Graph exchange{{.updates = {{a, b}, {b, a}}}};
  exchange.run();
  CHECK(numbers(a) == Numbers{3, 4});
  CHECK(numbers(b) == Numbers{1, 2});
  exchange.run();
  CHECK(numbers(a) == Numbers{1, 2});
  Graph flipped{{.updates = {{a, flip(b)}, {b, flip(a) + b}}}};
  flipped.run();
  CHECK(numbers(a) == Numbers{4, 3});
  CHECK(numbers(b) == Numbers{5, 5});
}

TEST_CASE("a state's update may be one of its own views, and its old value an output") {
  const Tensor w = Tensor::variable(Tensor{{1.0, 2.0}, {3.0, 4.0}});
  const Tensor old = w.T().T();
  Graph g{{.outputs = {old, w}, .updates = {{w, w.T()}}}};
  g.run();
  CHECK(numbers(g.output(0)) == Numbers{1, 2, 3, 4});
  CHECK(numbers(g.output(1)) == Numbers{1, 2, 3, 4});
  CHECK(numbers(w) == Numbers{1, 3, 2, 4});
}

TEST_CASE("two graphs share the states they were made with") {
  const Tensor w = Tensor::variable(Tensor{1.0});
  const Tensor x = Tensor::placeholder({1});
  const Tensor y = w * x;
  Graph train{{.inputs = {x}, .updates = {{w, w + x}}}};
  Graph predict{{.inputs = {x}, .outputs = {y}}};
  train.set(x, Tensor{2.0});
  predict.set(x, Tensor{10.0});
  for (int i = 1; i < 5; ++i) {
    train.run();
    predict.run();
    CHECK(numbers(predict[y]) == Numbers{10 * (1 + 2.0 * i)});
  }
}

TEST_CASE("variables() lists what is trained and nothing else") {
  const Tensor w = Tensor::variable(Tensor{1.0}, "w");
  const Tensor b = Tensor::variable(Tensor{2.0}, "b");
  const Tensor mean = Tensor::persistent(Tensor{3.0}, "mean");
  const Tensor x = Tensor::placeholder({1});
  Graph g{{.inputs = {x}, .outputs = {w * x + b - mean + w}}};
  const std::vector<Tensor> variables = g.variables();
  REQUIRE(variables.size() == 2);
  CHECK(numbers(variables[0]) == Numbers{1});
  CHECK(numbers(variables[1]) == Numbers{2});
  assign(variables[1], Tensor{50.0});  // a handle like any other
  CHECK(numbers(b) == Numbers{50});
}

TEST_CASE("a graph used against its rules says so") {
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor other = Tensor::placeholder({2}, DType::f32, "other");
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w");
  const Tensor y = x * w;
  CHECK_THROWS_AS((Graph{{.inputs = {w}, .outputs = {y}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.inputs = {y}, .outputs = {y}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.inputs = {x}, .outputs = {Tensor()}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.updates = {{x, w}}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.updates = {{w, w}, {w, w + 1}}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.updates = {{w, Tensor()}}}}), tyto::GraphError);
  CHECK_THROWS_AS((Graph{{.updates = {{w, Tensor{1.0}}}}}), tyto::ShapeError);
  Graph g{{.inputs = {x}, .outputs = {y}, .updates = {{w, w + 1}}}};
  CHECK_THROWS_AS(g[y], tyto::GraphError);
  CHECK_THROWS_WITH_AS(g.run(), "input 'x' of shape (2,) was given no value", tyto::GraphError);
  CHECK(numbers(w) == Numbers{1, 2});
  CHECK_THROWS_AS(g.set(other, Tensor{1.0, 2.0}), tyto::GraphError);
  CHECK_THROWS_AS(g.set(x, Tensor()), tyto::GraphError);
  CHECK_THROWS_AS(g.output(1), tyto::IndexError);
  g.set(x, Tensor{1.0, 1.0});
  g.run();
  CHECK_THROWS_AS(g[x + w], tyto::GraphError);
  CHECK(numbers(g[y]) == Numbers{1, 2});
}

TEST_CASE("a graph that was moved from says so, and may be given another") {
  const Tensor x = Tensor::placeholder({1}, DType::f32, "x");
  Graph first{{.inputs = {x}, .outputs = {x + 1}}};
  Graph second = std::move(first);
  const auto is_told = [](const auto& use) {
    CHECK_THROWS_WITH_AS(use(), "Graph: a graph that was moved from is used", tyto::GraphError);
  };
  is_told([&] { first.run(); });
  is_told([&] { first.set(x, Tensor{1.0}); });
  is_told([&] { first.output(0); });
  is_told([&] { first[x]; });
  is_told([&] { first.inputs(); });
  is_told([&] { first.variables(); });
  is_told([&] { first.text(); });
  is_told([&] { first.to_bytes(); });
  is_told([&] { first.plan(); });
  is_told([&] { first.html(); });
  first = std::move(second);
  first.set(x, Tensor{1.0});
  first.run();
  CHECK(numbers(first.output(0)) == Numbers{2});
}

TEST_CASE("an input that nothing needs may be set or not") {
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor y = Tensor::ones({2}) * 2;
  Graph g{{.inputs = {x}, .outputs = {y}}};
  g.set(x, Tensor{1.0, 1.0});
  g.run();
  CHECK(numbers(g[y]) == Numbers{2, 2});
}

TEST_CASE("an input of one value is not written, whatever the graph does to it") {
  std::vector<float> mine{1, 2, 3};
  const Tensor x = Tensor::placeholder({3});
  Tensor y = x;
  y(1) = 100;
  const Tensor z = -(x * 1.0);
  Graph g{{.inputs = {x}, .outputs = {y, z, y + z}}};
  g.set(x, Tensor::borrow(mine.data(), {3}));
  g.run();
  CHECK(numbers(g[y]) == Numbers{1, 100, 3});
  CHECK(numbers(g[z]) == Numbers{-1, -2, -3});
  CHECK(mine == std::vector<float>{1, 2, 3});
}

TEST_CASE("a graph computes with delayed functions") {
  using Host = tyto::Tensor<tyto::Eager>;
  const Tensor x = Tensor::placeholder({4});
  const Tensor sorted = tyto::delay<tyto::Lazy>(
      {4}, DType::f32, [](const std::vector<Host>& in) { return sort(in[0]); }, {x.reshape({2, 2}).T().reshape({4})});
  const Tensor last = std::as_const(sorted)(3);
  Graph g{{.inputs = {x}, .outputs = {sorted, last}}};
  g.set(x, Tensor{3.0, 1.0, 2.0, 0.0});
  g.run();
  CHECK(numbers(g[sorted]) == Numbers{0, 1, 2, 3});
  CHECK(numbers(g[last]) == Numbers{3});
}

TEST_CASE("a graph with draws gives new numbers each run and is repeated by the seed") {
  const Tensor u = Tensor::uniform({4});
  const Tensor n = Tensor::normal({4});
  Graph g{{.outputs = {u, u * 2, n}}};
  tyto::seed(3);
  g.run();
  const Numbers first = numbers(g.output(0));
  const Numbers doubled = numbers(g.output(1));
  for (std::size_t i = 0; i < 4; ++i) CHECK(doubled[i] == 2 * first[i]);
  g.run();
  CHECK(numbers(g.output(0)) != first);
  tyto::seed(3);
  g.run();
  CHECK(numbers(g.output(0)) == first);
}

TEST_CASE("every memory strategy gives the same results") {
  const Tensor x = Tensor::placeholder({8, 8});
  Tensor h = x;
  std::vector<Tensor> outputs;
  for (int i = 0; i < 6; ++i) {
    const Tensor a = tanh(matmul(h, h.T()) * 0.1);
    h = concat(std::vector<Tensor>{a(slice(0, 4)), std::as_const(h)(slice(4, 8)) + 1}, 0) - a.mean(0);
    outputs.push_back(h);
  }
  const Tensor value = Tensor::linspace(-1, 1, 64).reshape({8, 8});
  std::vector<Numbers> expected;
  for (const tyto::MemoryStrategy& each : tyto::memory_strategies()) {
    if (!each.available) continue;  // built without its solver
    const std::string strategy(each.name);
    CAPTURE(strategy);
    Graph g{{.inputs = {x}, .outputs = outputs}, {.memory_strategy = strategy}};
    g.set(x, value);
    g.run();
    g.run();
    std::vector<Numbers> found;
    for (std::size_t i = 0; i < outputs.size(); ++i) found.push_back(numbers(g.output(i)));
    if (expected.empty()) expected = found;
    CHECK(found == expected);
  }
}

}  // namespace graph_test
