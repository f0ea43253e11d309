// SPDX-License-Identifier: MIT
// Paths of states, from the labels of the nodes that read them.
#include "engine/show/state_names.hpp"

#include <algorithm>
#include <set>

#include "core/graph/label.hpp"
#include "core/graph/op_ids.hpp"
#include "engine/run/packed_weights.hpp"

namespace tyto::run {

namespace {

/// The layer of a label, "encoder" of "encoder/gradient of matmul"; empty for gradients of what no layer recorded.
std::string layer_of(const std::string& label) {
  return label.starts_with("gradient of ") ? "" : label.substr(0, label.find("/gradient of "));
}

std::size_t count_captures(const core::Attributes& attributes, std::size_t operands) {
  if (const auto* branch = std::get_if<core::BranchAttributes>(&attributes)) return operands - 1 - branch->keyed;
  const auto& loop = std::get<core::IterationAttributes>(attributes);
  return operands - loop.counted - loop.tested - loop.keyed - static_cast<std::size_t>(loop.carries + loop.rows);
}

/// The label of what reads a node's operand: of a node inside where that is what a region captures.
const core::Label& label_of_reader(const core::Graph& graph, const core::GraphNode& node, std::size_t operand) {
  const std::span<const core::Region> regions = core::regions_of(graph.attributes(node));
  const std::size_t from_end = node.input_count - operand;  // captured values are last, outside and inside
  if (regions.empty() || from_end > count_captures(graph.attributes(node), node.input_count)) return node.label;
  for (const core::Region& region : regions) {
    const core::Graph& inside = region.graph();
    const core::Port port = inside.inputs()[inside.inputs().size() - from_end].port;
    for (const core::GraphNode& each : inside.nodes()) {
      const auto inputs = inside.inputs_of(each);
      const auto found = std::ranges::find(inputs, port);
      if (found == inputs.end()) continue;
      const core::Label& label = label_of_reader(inside, each, static_cast<std::size_t>(found - inputs.begin()));
      if (label != nullptr) return label;
    }
  }
  return node.label;
}

}  // namespace

StateNames names_of_states(const core::Graph& graph) {
  StateNames names;
  std::unordered_map<core::Port, const core::State*> unread;
  for (const core::GraphInput& input : graph.inputs()) {
    if (input.state == nullptr || input.state->kind() == core::State::Kind::placeholder) continue;
    names[input.state.get()] = input.name;
    unread[input.port] = input.state.get();
  }
  // A rule of descent labels what it computes by its name, with which those of its states begin: "adam mean".
  std::set<std::string> rules;
  for (const core::GraphNode& node : graph.nodes()) {
    if (!node.label) continue;
    const std::string rule = node.label->substr(node.label->rfind('/') + 1);
    const auto is_of_rule = [&](const core::GraphInput& input) { return input.name.starts_with(rule + " "); };
    if (std::ranges::any_of(graph.inputs(), is_of_rule)) rules.insert(rule);
  }
  const auto has_path = [&](const std::string& name, const std::string& layer) {
    return !layer.empty() && !rules.contains(layer.substr(layer.rfind('/') + 1)) &&
           !rules.contains(name.substr(0, name.find(' ')));
  };
  for (const core::GraphNode& node : graph.nodes()) {
    const std::span<const core::Port> inputs = graph.inputs_of(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto found = unread.find(inputs[i]);
      if (found == unread.end()) continue;
      const core::Label& label = label_of_reader(graph, node, i);
      const std::string layer = label ? layer_of(*label) : "";
      const core::State* const state = found->second;
      unread.erase(found);
      std::string& name = names[state];
      if (node.op == core::OpId::alias) unread[node.first_result] = state;
      else if (has_path(name, layer)) name = layer + "." + name;
    }
  }
  return names;
}

InputNames names_of_inputs(const core::Graph& graph, const StateNames& states) {
  InputNames names;
  for (const core::GraphInput& input : graph.inputs()) {
    const auto packed = PackedWeights::behind(input);
    const auto state = states.find(packed ? &packed->weights() : input.state.get());
    names[input.port] = state == states.end() ? input.name : state->second + (packed ? ", packed" : "");
  }
  return names;
}

}  // namespace tyto::run
