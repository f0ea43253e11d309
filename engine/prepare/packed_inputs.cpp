// SPDX-License-Identifier: MIT
// Makes packed weights of states and constants inputs of the graph, so that all their consumers share one packed copy.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/graph/graph_copy.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/packed_weights.hpp"

namespace tyto::run {

namespace {

using core::Graph;
using core::GraphNode;
using core::OpId;
using core::Port;

/// The packed weights of each node that reads a constant, or a state that the graph does not change; null for others.
std::vector<std::shared_ptr<PackedWeights>> packed_weights(const Graph& graph) {
  std::vector<std::shared_ptr<PackedWeights>> packed(graph.nodes().size());
  std::unordered_map<std::uint32_t, std::shared_ptr<core::State>> states;  // by the node that reads it
  for (const core::GraphInput& input : graph.inputs()) {
    if (input.state == nullptr || input.generator) continue;
    const core::State::Kind kind = input.state->kind();
    if (kind == core::State::Kind::persistent || kind == core::State::Kind::variable) {
      states.emplace(graph.producer(input.port), input.state);
    }
  }
  for (const core::GraphUpdate& update : graph.updates()) {
    states.erase(graph.producer(graph.inputs()[update.input].port));
  }
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (node.op != OpId::pack_weights) continue;
    const std::optional<PackingPath> path = packing_path(graph, i);
    if (!path) continue;
    std::uint32_t source = i;
    while (graph.nodes()[source].input_count != 0) source = graph.producer(graph.inputs_of(graph.nodes()[source])[0]);
    const auto state = states.find(source);
    std::shared_ptr<core::State> weights = state != states.end() ? state->second : nullptr;
    // A part of a constant is folded where it is packed.
    if (path->reversible && weights == nullptr) weights = core::holder_of(graph.attributes(graph.nodes()[source]));
    if (weights != nullptr) packed[i] = PackedWeights::of(weights, *path, graph.type(node.first_result));
  }
  return packed;
}

/// Whether each node is kept: nodes that pack are removed, with the views and constants that only they read.
std::vector<bool> needed_nodes(const Graph& graph, const std::vector<std::shared_ptr<PackedWeights>>& packed) {
  std::vector<bool> read(graph.port_count(), false);
  for (const Port output : graph.outputs()) read[output] = true;
  for (const core::GraphUpdate& update : graph.updates()) read[update.port] = true;
  std::vector<bool> needed(graph.nodes().size(), true);
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const GraphNode& node = graph.nodes()[i];
    const bool is_view = node.input_count != 0 && core::definition(node.op).is(core::Traits::view);
    needed[i] = packed[i] == nullptr && (read[node.first_result] || !(is_view || node.op == OpId::constant));
    if (!needed[i]) continue;
    for (const Port input : graph.inputs_of(node)) read[input] = true;
  }
  return needed;
}

}  // namespace

core::Graph with_packed_inputs(core::Graph graph) {
  const std::vector<std::shared_ptr<PackedWeights>> packed = packed_weights(graph);
  if (std::ranges::all_of(packed, [](const auto& each) { return each == nullptr; })) return graph;
  const std::vector<bool> needed = needed_nodes(graph, packed);
  core::GraphBuilder builder;
  core::GraphCopy copy(graph, builder);
  copy.add_inputs();
  std::unordered_map<const PackedWeights*, Port> inputs;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (packed[i] != nullptr) {
      const auto [known, is_new] = inputs.try_emplace(packed[i].get(), core::no_port);
      if (is_new) {
        const std::shared_ptr<core::State> state = PackedWeights::input_state(packed[i]);
        known->second = builder.add_input(state->type(), {.name = state->name(), .state = state});
      }
      copy[node.first_result] = known->second;
    } else if (needed[i] && !copy.has(node)) {
      copy.add(node);
    }
  }
  return copy.finish();
}

}  // namespace tyto::run
