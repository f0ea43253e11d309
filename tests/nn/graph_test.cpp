// SPDX-License-Identifier: MIT
// Explicit graphs over layers: parameters, made in neither mode, are read anew in each run.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace graph_test {

using namespace tyto;

namespace {

using T = Tensor<Lazy>;

struct Training {
  nn::Linear layer{{.in = 2, .out = 1, .bias = false, .initial = nn::constant_weights(1)}};
  T x = T::placeholder({1, 2}, DType::f32, "x");

  // One step of descent at the rate 1/20 for the loss and its gradient.
  Graph graph(const T& loss, const std::vector<Tensor<Any>>& gradients) {
    const T weight(layer.weight);
    return Graph({.inputs = {x}, .outputs = {loss}, .updates = {{weight, weight - 0.05f * T(gradients[0])}}});
  }
  // The losses of three runs on the input (1, 2).
  static std::vector<float> losses(Graph graph, const T& x, const T& loss) {
    std::vector<float> list;
    for (int run = 0; run < 3; ++run) {
      graph.set(x, T{{1, 2}});
      graph.run();
      list.push_back(graph[loss].item<float>());
    }
    return list;
  }
};

}  // namespace

TEST_CASE("a graph trains layers by gradients taken beside its inputs") {
  Training training;
  const auto objective = [&](const T& x) { return sum(square(training.layer(x))); };
  const auto [loss, gradients] = value_and_grad(objective, training.layer.parameters())(training.x);
  // (w1 + 2 w2)^2: every step divides its root by two.
  const std::vector<float> losses = Training::losses(training.graph(loss, gradients), training.x, loss);
  CHECK(losses[0] == doctest::Approx(9));
  CHECK(losses[1] == doctest::Approx(2.25));
  CHECK(losses[2] == doctest::Approx(0.5625));
}

TEST_CASE("a graph trains layers by gradients of a function without arguments") {
  Training training;
  const auto objective = [&] { return sum(square(training.layer(training.x))); };
  const auto [loss, gradients] = value_and_grad(objective, training.layer.parameters())();
  const std::vector<float> losses = Training::losses(training.graph(loss, gradients), training.x, loss);
  CHECK(losses[0] == doctest::Approx(9));
  CHECK(losses[1] == doctest::Approx(2.25));
  CHECK(losses[2] == doctest::Approx(0.5625));
}

TEST_CASE("values that a graph computes of parameters alone are recomputed when these change") {
  Training training;
  const auto objective = [&](const T& x) {
    return sum(square(training.layer(x))) + sum(square(T(training.layer.weight)));
  };
  const auto [loss, gradients] = value_and_grad(objective, training.layer.parameters())(training.x);
  const std::vector<float> losses = Training::losses(training.graph(loss, gradients), training.x, loss);
  CHECK(losses[0] == doctest::Approx(11));                  // 9 + 1 + 1, gradients 8 and 14
  CHECK(losses[1] == doctest::Approx(1.44 + 0.36 + 0.09));  // the weights are 0.6 and 0.3
}

}  // namespace graph_test
