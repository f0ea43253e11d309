// SPDX-License-Identifier: MIT
// Traverses from what is asked for back to what is given, without recursion, and visits each node once.
#include "optimiser/incremental/partial_graph.hpp"

#include <algorithm>

#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::optimiser {

using core::Graph;
using core::GraphNode;
using core::OpId;
using core::Port;
using core::Traits;

namespace {

/// A user's function without inputs may read what it likes.
bool is_source(const GraphNode& node) {
  return (node.input_count == 0 && core::calls_user_function(node)) || core::has_effect(node);
}

std::vector<Port> roots_of(const Graph& whole, const PartialRequest& request) {
  std::vector<Port> roots;
  for (const std::uint32_t output : request.outputs) roots.push_back(whole.outputs()[output]);
  for (const std::uint32_t update : request.updates) roots.push_back(whole.updates()[update].port);
  roots.insert(roots.end(), request.kept.begin(), request.kept.end());
  return roots;
}

}  // namespace

std::vector<bool> reached_by(const Graph& graph, const std::vector<bool>& changed_inputs) {
  std::vector<bool> reached(graph.port_count(), false);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (changed_inputs[i]) reached[graph.inputs()[i].port] = true;
  }
  for (const GraphNode& node : graph.nodes()) {
    bool any = is_source(node);
    for (const Port input : graph.inputs_of(node)) any = any || reached[input];
    if (!any) continue;
    for (std::uint32_t i = 0; i < node.result_count; ++i) reached[node.first_result + i] = true;
  }
  return reached;
}

PartialGraph partial_graph(const Graph& whole, const PartialRequest& request) {
  // Requested outputs are computed; everything else that is available becomes an input.
  std::vector<bool> asked(whole.port_count(), false);
  for (const std::uint32_t output : request.outputs) asked[whole.outputs()[output]] = true;
  for (const Port port : request.kept) asked[port] = true;
  const auto is_given = [&](Port port) { return request.available[port] && !asked[port]; };

  std::vector<bool> needed(whole.nodes().size(), false);
  std::vector<std::uint32_t> pending;
  const auto need = [&](Port port) {
    const std::uint32_t node = whole.producer(port);
    if (is_given(port) || needed[node]) return;
    needed[node] = true;
    pending.push_back(node);
  };
  for (const Port root : roots_of(whole, request)) need(root);
  while (!pending.empty()) {
    const GraphNode& node = whole.nodes()[pending.back()];
    pending.pop_back();
    for (const Port input : whole.inputs_of(node)) need(input);
  }

  PartialGraph part;
  core::GraphBuilder builder;
  core::GraphCopy place(whole, builder);
  std::vector<std::uint32_t> input_of(whole.inputs().size(), UINT32_MAX);
  std::vector<bool> updated(whole.inputs().size(), false);
  for (const std::uint32_t update : request.updates) updated[whole.updates()[update].input] = true;
  for (std::uint32_t i = 0; i < whole.inputs().size(); ++i) {
    const core::GraphInput& input = whole.inputs()[i];
    if (!needed[whole.producer(input.port)] && !updated[i]) continue;
    input_of[i] = static_cast<std::uint32_t>(part.inputs.size());
    part.inputs.push_back(i);
    place[input.port] = builder.add_input(whole.type(input.port), input);
  }
  const auto give = [&](Port port) {
    if (place[port] != core::no_port || !is_given(port)) return;
    core::GraphInput input;
    input.name = "kept value";
    place[port] = builder.add_input(whole.type(port), std::move(input));
    part.given.push_back(port);
  };
  std::vector<Port> inputs;
  for (std::uint32_t i = 0; i < whole.nodes().size(); ++i) {
    const GraphNode& node = whole.nodes()[i];
    if (!needed[i] || (node.op == OpId::read && node.input_count == 0)) continue;
    inputs.clear();
    for (const Port input : whole.inputs_of(node)) {
      give(input);
      inputs.push_back(place[input]);
    }
    const Port first = place.add_on(inputs, node, node.attributes, node.label);
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      // A result that is given stays what it is, even if the node runs for another of its results.
      if (!is_given(node.first_result + r)) place[node.first_result + r] = first + r;
    }
  }
  for (const std::uint32_t output : request.outputs) builder.add_output(place[whole.outputs()[output]]);
  for (const Port port : request.kept) builder.add_output(place[port]);
  for (const std::uint32_t update : request.updates) {
    const core::GraphUpdate& edge = whole.updates()[update];
    give(edge.port);
    builder.add_update(input_of[edge.input], place[edge.port]);
  }
  builder.set_draws(request.draws);
  part.graph = builder.finish();
  return part;
}

std::vector<Port> crossing_values(const Graph& whole, const std::vector<bool>& reached, const PartialRequest& request) {
  std::vector<Port> crossing;
  std::vector<bool> seen(whole.port_count(), false);
  std::vector<Port> pending = roots_of(whole, request);
  while (!pending.empty()) {
    const Port port = pending.back();
    pending.pop_back();
    if (seen[port] || request.available[port]) continue;
    seen[port] = true;
    const GraphNode& node = whole.nodes()[whole.producer(port)];
    const bool is_view = core::definition(node.op).is(Traits::view);
    if (!reached[port] && !is_view) {
      if (node.input_count != 0) crossing.push_back(port);
      continue;
    }
    for (const Port input : whole.inputs_of(node)) pending.push_back(input);
  }
  std::sort(crossing.begin(), crossing.end());
  return crossing;
}

}  // namespace tyto::optimiser
