// SPDX-License-Identifier: MIT
// Names states by the labels of the nodes that read them.
#include "engine/show/state_names.hpp"

#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

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

/// Labels of what reads a node's operand: of a node inside where that is what a region captures.
class Readers {
 public:
  const core::Label& label(const core::Graph& graph, const core::GraphNode& node, std::size_t operand) {
    const std::span<const core::Region> regions = core::regions_of(graph.attributes(node));
    const std::size_t from_end = node.input_count - operand;  // captured values are last, outside and inside
    if (regions.empty() || from_end > count_captures(graph.attributes(node), node.input_count)) return node.label;
    for (const core::Region& region : regions) {
      const auto& inputs = region.graph().inputs();
      const core::Label* const inside = labels_within(region.graph())[inputs[inputs.size() - from_end].port];
      if (inside != nullptr) return *inside;
    }
    return node.label;
  }

 private:
  /// Labels by port: that of the first reader that has one.
  const std::vector<const core::Label*>& labels_within(const core::Graph& graph) {
    if (const auto known = within_.find(&graph); known != within_.end()) return known->second;
    std::vector<const core::Label*> labels(graph.port_count(), nullptr);
    for (const core::GraphNode& node : graph.nodes()) {
      const std::span<const core::Port> inputs = graph.inputs_of(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (labels[inputs[i]] != nullptr) continue;
        if (const core::Label& found = label(graph, node, i); found != nullptr) labels[inputs[i]] = &found;
      }
    }
    return within_.emplace(&graph, std::move(labels)).first->second;
  }

  std::unordered_map<const core::Graph*, std::vector<const core::Label*>> within_;
};

std::string_view last_part(std::string_view label) { return label.substr(label.rfind('/') + 1); }

/// A rule of descent labels what it computes by its name, with which those of its states begin: "adam mean".
std::unordered_set<std::string_view> rules_of(const core::Graph& graph) {
  std::unordered_set<std::string_view> beginnings, rules;
  for (const core::GraphInput& input : graph.inputs()) {
    const std::string_view name = input.name;
    for (std::size_t end = name.find(' '); end != name.npos; end = name.find(' ', end + 1)) {
      beginnings.insert(name.substr(0, end));
    }
  }
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.label && beginnings.contains(last_part(*node.label))) rules.insert(last_part(*node.label));
  }
  return rules;
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
  const std::unordered_set<std::string_view> rules = rules_of(graph);
  Readers readers;
  const auto has_path = [&](std::string_view name, std::string_view layer) {
    return !layer.empty() && !rules.contains(last_part(layer)) && !rules.contains(name.substr(0, name.find(' ')));
  };
  for (const core::GraphNode& node : graph.nodes()) {
    const std::span<const core::Port> inputs = graph.inputs_of(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto found = unread.find(inputs[i]);
      if (found == unread.end()) continue;
      const core::Label& label = readers.label(graph, node, i);
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
