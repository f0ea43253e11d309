// SPDX-License-Identifier: MIT
// Paths of states, from the labels of the nodes that read them.
#include "engine/show/state_names.hpp"

#include <algorithm>
#include <set>

#include "core/graph/op_ids.hpp"
#include "engine/run/packed_weights.hpp"

namespace tyto::run {

namespace {

/// The layer of a label, "encoder" of "encoder/gradient of matmul"; empty for gradients of what no layer recorded.
std::string layer_of(const std::string& label) {
  return label.starts_with("gradient of ") ? "" : label.substr(0, label.find("/gradient of "));
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
    const std::string layer = node.label ? layer_of(*node.label) : "";
    for (const core::Port port : graph.inputs_of(node)) {
      const auto found = unread.find(port);
      if (found == unread.end()) continue;
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
