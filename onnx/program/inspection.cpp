// SPDX-License-Identifier: MIT
// Finds nodes and values by the names that the file gives them.
#include "onnx/program/inspection.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tyto::onnx {

namespace {

bool is_element_of(std::string_view name, std::string_view sequence) {
  if (!name.starts_with(sequence) || !name.ends_with("]")) return false;
  name.remove_prefix(sequence.size());
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  return name.size() > 2 && name[0] == '[' && std::all_of(name.begin() + 1, name.end() - 1, is_digit);
}

/// The name as the file holds it, whose bytes outlive the graph.
std::optional<std::string_view> stored_name(const GraphMessage& graph, std::string_view name) {
  for (const NodeMessage& node : graph.nodes) {
    const auto found = std::find(node.outputs.begin(), node.outputs.end(), name);
    if (found != node.outputs.end()) return *found;
  }
  for (const TensorMessage& tensor : graph.initialisers) {
    if (tensor.name == name) return tensor.name;
  }
  for (const ValueMessage& input : graph.inputs) {
    if (input.name == name) return input.name;
  }
  return std::nullopt;
}

ModelTensor described(std::string_view name, const Operand& operand) {
  ModelTensor tensor{.name = std::string(name), .dtype = {}, .shape = {}};
  const Operand* one = &operand;
  if (operand.sequence != nullptr) {
    tensor.sequence = true;
    one = operand.sequence->empty() ? nullptr : &operand.sequence->front();
  }
  if (one == nullptr || !one->tensor.defined()) return tensor;
  tensor.dtype = one->tensor.dtype();
  if (tensor.sequence) return tensor;  // whose shapes may differ
  tensor.shape.emplace();
  for (const std::int64_t length : one->tensor.shape()) tensor.shape->push_back({length, {}});
  return tensor;
}

}  // namespace

std::vector<ModelNode> nodes_of(const GraphMessage& graph) {
  std::vector<ModelNode> nodes;
  for (const NodeMessage& node : graph.nodes) {
    const std::string_view domain = canonical_domain(node.domain);
    nodes.push_back({std::string(node.name),
                     domain.empty() ? std::string(node.operator_name) : core::text(domain, ".", node.operator_name),
                     {node.inputs.begin(), node.inputs.end()},
                     {node.outputs.begin(), node.outputs.end()}});
  }
  return nodes;
}

void add_outputs(const std::string& file, GraphMessage& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto gives = [&](const ValueMessage& output) {
      return output.name == name || (output.is_sequence && is_element_of(name, output.name));
    };
    if (std::any_of(graph.outputs.begin(), graph.outputs.end(), gives)) continue;
    const std::optional<std::string_view> stored = stored_name(graph, name);
    if (!stored || stored->empty())
      core::throw_error<IndexError>(file, ": there is no value '", name, "' in its graph");
    ValueMessage output;
    output.name = *stored;
    graph.outputs.push_back(output);
  }
}

std::vector<ModelTensor> values_of(const Program& program, Slots slots) {
  std::vector<ModelTensor> values;
  std::vector<bool> unknown(slots.size(), false);
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    const Program::Step& step = program.steps()[i];
    bool runs = std::none_of(step.inputs.begin(), step.inputs.end(), [&](std::int32_t slot) {
      return slot != Program::none && unknown[static_cast<std::size_t>(slot)];
    });
    try {
      if (runs) program.run(slots, i, i + 1, true);
    } catch (const DataDependence&) {
      runs = false;
    }
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      if (step.outputs[k] == Program::none) continue;
      const auto slot = static_cast<std::size_t>(step.outputs[k]);
      unknown[slot] = !runs;
      values.push_back(described(step.node->outputs[k], runs ? slots[slot] : Operand()));
    }
  }
  return values;
}

}  // namespace tyto::onnx
