// Computing values twice: the same numbers in less memory.
#include <doctest/doctest.h>

#include "optimiser/recompute/recompute.hpp"
#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/networks/networks.hpp"

using namespace tyto;
using optimiser::Storages;

namespace {

std::int64_t lowest_peak(const core::Graph& graph) {
  return choose_order(schedule::make_problem(graph, Storages(graph)), {.worth_changing = 0}).peak;
}

}  // namespace

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
