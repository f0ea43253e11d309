// SPDX-License-Identifier: MIT
// Time of the graph optimiser by size: recurrent cells with the redundancy that gradients and careful code leave
// behind.
#include <cstdio>

#include "core/graph/op_ids.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/devices.hpp"

namespace {

using namespace tyto;
using core::OpId;
using core::Port;

// One step of a gated cell, 18 nodes: repeated sub-expressions, products with 1, reshapes there and back.
Port cell(core::GraphBuilder& graph, Port state, Port input, Port weight, Port one) {
  const auto list = [&](OpId op, Port x, IntList to) {
    return graph.add(op, core::ListAttributes{std::move(to)}, {x});
  };
  const Port product = graph.add(OpId::matmul, {}, {state, weight});
  const Port flat = list(OpId::reshape, product, {64});
  const Port sum = graph.add(OpId::add, {}, {list(OpId::reshape, flat, {8, 8}), input});
  const Port gate = graph.add(OpId::sigmoid, {}, {sum});
  const Port again = graph.add(OpId::sigmoid, {}, {graph.add(OpId::multiply, {}, {sum, one})});
  const Port fresh = graph.add(OpId::tanh, {}, {graph.add(OpId::multiply, {}, {again, input})});
  const Port kept = graph.add(OpId::multiply, {}, {gate, state});
  const Port rest =
      graph.add(OpId::subtract, {}, {one, graph.add(OpId::negate, {}, {graph.add(OpId::negate, {}, {gate})})});
  const Port added = graph.add(OpId::multiply, {}, {rest, fresh});
  const Port transposed = list(OpId::transpose, list(OpId::transpose, added, {1, 0}), {1, 0});
  return graph.add(OpId::add, {}, {kept, graph.add(OpId::multiply, {}, {transposed, one})});
}

core::Graph cells(std::size_t count) {
  core::GraphBuilder graph;
  const core::TensorType type{DType::f32, {8, 8}, false};
  const Port input = graph.add_input(type, {.port = 0, .name = "input", .state = nullptr, .generator = false});
  const Port weight = graph.add_input(type, {.port = 0, .name = "weight", .state = nullptr, .generator = false});
  const Port one = graph.add(OpId::fill, core::RangeAttributes{{}, DType::f32, 1.0, 0}, {});
  Port state = input;
  for (std::size_t i = 0; i < count; ++i) state = cell(graph, state, input, weight, one);
  graph.add_output(state);
  return graph.finish();
}

}  // namespace

int main() {
  std::printf("%12s %12s %8s %12s %14s\n", "nodes", "after", "rounds", "ms", "ns a node");
  for (const std::size_t nodes : {std::size_t{10'000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
    double best = 1e300;
    PassReport report;
    for (int repeat = 0; repeat < 3; ++repeat) {
      (void)run::optimised(cells(nodes / 18), run::cpu_device(), {}, report);
      best = report.milliseconds < best ? report.milliseconds : best;
    }
    std::printf("%12zu %12zu %8zu %12.2f %14.0f\n", report.nodes_before, report.nodes_after, report.rounds, best,
                1e6 * best / static_cast<double>(report.nodes_before));
    if (nodes != 1'000'000) continue;
    for (const PassSummary& pass : report.passes) {
      std::printf("  %-12s %10.2f ms in %zu runs\n", pass.pass.c_str(), pass.milliseconds, pass.runs);
    }
  }
}
