// SPDX-License-Identifier: MIT
// Recomputation: the same numbers in less memory.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/recompute/recompute.hpp"
#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/networks/networks.hpp"
#include "tyto/nn.hpp"

using namespace tyto;
using optimiser::Storages;

namespace {

std::int64_t lowest_peak(const core::Graph& graph) {
  return choose_order(schedule::make_problem(graph, Storages(graph)), {.worth_changing = 0}).peak;
}

// Losses and weights after three steps of a deep network with dropout, and the bytes of its plan.
struct Trained {
  std::vector<float> numbers;
  std::size_t bytes = 0;
};

Trained train(std::size_t limit) {
  using T = Tensor<Lazy>;
  seed(7);
  std::vector<T> weights;
  for (int i = 0; i < 12; ++i) weights.push_back(T::variable(T::normal({16, 16}) * 0.3));
  nn::Descent descent = nn::sgd({.rate = 0.05});
  const auto loss = [&](const T& x) {
    T y = x;
    for (const T& weight : weights) {
      y = tanh(matmul(y, weight));
      y = y * cast(T::bernoulli(y.shape(), {.probability = 0.9}), DType::f32);
    }
    return mean(square(y));
  };
  auto step = compile(
      [&](const T& x) {
        auto [value, gradients] = value_and_grad(loss, weights)(x);
        descent.update(weights, gradients);
        return value;
      },
      {.memory_limit = limit});
  Trained out;
  for (int i = 0; i < 3; ++i) out.numbers.push_back(step(T::normal({256, 16})).item<float>());
  for (const T& weight : weights) {
    for (const float each : weight.to_vector<float>()) out.numbers.push_back(each);
  }
  out.bytes = static_cast<std::size_t>(step.plan().height);
  return out;
}

}  // namespace

TEST_CASE("a training step keeps within its memory limit and gives the same bits, dropout included") {
  const Trained free = train(0);
  for (const double share : {0.8, 0.6, 0.5}) {
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(free.bytes));
    const Trained limited = train(limit);
    CHECK(limited.bytes <= limit);
    CHECK(limited.numbers == free.numbers);
  }
}

TEST_CASE("a memory limit that cannot be met is refused with the smallest peak there is") {
  try {
    train(1000);
    FAIL("nothing was thrown");
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    CHECK(text.starts_with("compile: a memory limit of 1000 bytes cannot be met: the plan needs "));
    const std::size_t place = text.rfind(' ');
    const std::size_t smallest = std::stoul(text.substr(place + 1));
    // A graph with the stated peak can be made.
    CHECK(train(smallest).bytes <= smallest);
  }
}

TEST_CASE("a limit is met by operators one by one as by fused groups, the workspace of kernels included") {
  using T = Tensor<Lazy>;
  const std::vector<std::function<T(T)>> programs{[](T p) {
                                                    const T e = exp(p);
                                                    return sum(cumsum(sin(cumsum(e, 0)), 1) * e);
                                                  },
                                                  [](T p) {  // the products need workspace, which no value is alive in
                                                    const T e = exp(p);
                                                    return sum(matmul(matmul(e, p), p) * e);
                                                  },
                                                  [](T p) {
                                                    const T e = exp(p);
                                                    return sum(sort(sort(sort(e, 0), 1), 0) * e);
                                                  }};
  const Tensor<Lazy> given = T::linspace(-1, 1, 192 * 192).reshape({192, 192});
  for (const char* passes : {"", "none"}) {
    CAPTURE(passes);
    for (const auto& program : programs) {
      const auto run = [&](std::size_t limit) {
        CompileOptions options;
        options.passes = passes;
        options.memory_limit = limit;
        auto f = compile(program, options);
        const float value = f(given).item<float>();
        return std::pair(value, f.report().arena_bytes);
      };
      const auto [wanted, bytes] = run(0);
      for (const double part : {0.97, 0.8}) {
        const auto limit = static_cast<std::size_t>(static_cast<double>(bytes) * part);
        const auto [value, found] = run(limit);
        CHECK(value == wanted);
        CHECK(found <= limit);
      }
    }
  }
}

TEST_CASE("a graph that fits is left as it is") {
  const core::Graph graph = testing::digits_training(4);
  const recompute::Fitted fitted = recompute::fit(graph, lowest_peak(graph));
  CHECK(fitted.fits);
  CHECK(fitted.extra_flops == 0);
  CHECK(fitted.graph.nodes().size() == graph.nodes().size());
}

TEST_CASE("training graphs of networks fit into sixty in a hundred of their peak") {
  const testing::TransformerSize sequence{.batch = 2, .length = 16, .width = 32, .inner = 64, .heads = 2, .layers = 3};
  const core::Graph graphs[] = {testing::residual_network(true, {.batch = 8, .side = 64, .blocks = {3, 3}}),
                                testing::transformer(true, sequence)};
  for (const core::Graph& graph : graphs) {
    const std::int64_t limit = lowest_peak(graph) * 6 / 10;
    const recompute::Fitted fitted = recompute::fit(graph, limit);
    CHECK(fitted.fits);
    CHECK(fitted.peak <= limit);
    CHECK(lowest_peak(fitted.graph) <= limit);
    // At most one more run of the forward pass, which is a third of a training step.
    CHECK(fitted.extra_flops <= 0.4 * recompute::total_flops(graph));
    CHECK(fitted.graph.outputs().size() == graph.outputs().size());
    CHECK(fitted.graph.updates().size() == graph.updates().size());
    CHECK(fitted.graph.inputs().size() == graph.inputs().size());
  }
}

TEST_CASE("a transformer fits into half of its peak with few products computed twice") {
  // A weight's gradient is as large as what it is made of here, so nothing is gained by making it at once: orders that
  // look at bytes alone leave all of them to the end, and nearly all of the forward pass had to be made again.
  const core::Graph graph =
      testing::transformer(true, {.batch = 2, .length = 32, .width = 128, .inner = 512, .heads = 4, .layers = 4});
  const std::int64_t limit = lowest_peak(graph) / 2;
  const recompute::Fitted fitted = recompute::fit(graph, limit);
  CHECK(fitted.fits);
  CHECK(lowest_peak(fitted.graph) <= limit);
  CHECK(fitted.extra_flops <= 0.15 * recompute::total_flops(graph));
}

TEST_CASE("arithmetic is counted as written in textbooks") {
  core::GraphBuilder builder;
  using core::OpId;
  const auto input = [&](Shape shape) { return builder.add_input({DType::f32, std::move(shape), false}, {}); };
  const core::Port a = input({3, 5});
  const core::Port b = input({5, 7});
  builder.add_output(builder.add(OpId::matmul, core::NoAttributes(), {a, b}));
  const core::Graph product = builder.finish();
  CHECK(recompute::total_flops(product) == 2 * 3 * 5 * 7);
  testing::Recording recording(false);
  const testing::T x = recording.input({1, 8, 8, 3});
  const core::Graph convolved = recording.inference(conv2d(x, recording.weight({3, 3, 3, 10}), {.padding = same}));
  CHECK(recompute::total_flops(convolved) == 2 * 8 * 8 * 10 * 3 * 3 * 3);
}
