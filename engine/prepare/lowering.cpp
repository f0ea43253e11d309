// SPDX-License-Identifier: MIT
// Records lowerings on placeholders, node by node, and copies them into the graph in the operator's place.
#include "engine/prepare/lowering.hpp"

#include <unordered_map>

#include "core/graph/builder.hpp"
#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/prepare/device_support.hpp"

namespace tyto::run {

namespace {

using core::Graph;
using core::GraphNode;
using core::Node;
using core::Port;
using core::TensorType;

bool runs(core::Device& device, const core::OpDef& def, std::span<const TensorType> inputs,
          std::span<const TensorType> results) {
  std::vector<DType> from, to;
  for (const TensorType& input : inputs) from.push_back(input.dtype);
  for (const TensorType& result : results) to.push_back(result.dtype);
  return device.supports(def.id, from, to);
}

/// Records what the lowering emits as a graph.
class Recording {
 public:
  explicit Recording(std::span<const TensorType> inputs) {
    for (const TensorType& type : inputs) {
      states_.push_back(std::make_shared<core::State>(core::State::Kind::placeholder, "", type));
      operands_.push_back(core::version(core::Mode::lazy, states_.back(), core::Array{}));
      places_[operands_.back().node()] = builder_.add_input(type, {});
    }
  }

  std::span<const Value> operands() const { return operands_; }

  Graph of(std::span<const Value> results) {
    for (const Value& result : results) builder_.add_output(port_of(result));
    return builder_.finish();
  }

 private:
  // Lowerings are a few operators deep.
  Port port_of(const Value& value) {  // NOLINT(misc-no-recursion)
    const Node& node = *value.node();
    const auto known = places_.find(&node);
    if (known != places_.end()) return known->second + value.output();
    return places_.emplace(&node, add(node)).first->second + value.output();
  }

  Port add(const Node& node) {  // NOLINT(misc-no-recursion)
    if (node.evaluated()) return builder_.add_constant(node.results()[0].array);
    std::vector<Port> inputs;
    std::vector<TensorType> types;
    for (const Value& input : node.inputs()) inputs.push_back(port_of(input));
    for (const core::Result& result : node.results()) types.push_back(result.type);
    return builder_.add(node.op(), node.shared_attributes(), inputs, types, nullptr);
  }

  std::vector<std::shared_ptr<core::State>> states_;
  std::vector<Value> operands_;
  core::GraphBuilder builder_;
  std::unordered_map<const Node*, Port> places_;
};

LoweringTarget target_of(core::Device& device) {
  return {[&device](const core::OpDef& def, std::span<const TensorType> inputs, std::span<const TensorType> results) {
            return runs(device, def, inputs, results);
          },
          [&device](const Graph& graph, const GraphNode& node) { return runs_on(device, graph, node); }};
}

// Lowerings are a few operators deep.
std::optional<Graph> lowering_for(const LoweringTarget& target, core::OpId op,  // NOLINT(misc-no-recursion)
                                  const core::Attributes& attributes, std::span<const TensorType> inputs,
                                  std::span<const TensorType> results) {
  const core::OpDef& def = core::definition(op);
  if (def.lower == nullptr || target.runs(def, inputs, results)) return std::nullopt;
  Recording recording(inputs);
  // Its parts may have to be lowered in turn.
  Graph graph = lowered(recording.of(def.lower(attributes, recording.operands())), target);
  for (const GraphNode& node : graph.nodes()) {
    if (!target.runs_node(graph, node)) return std::nullopt;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType& made = graph.type(graph.outputs()[i]);
    if (made.dtype == results[i].dtype && made.shape == results[i].shape) continue;
    core::throw_error<GraphError>(def.name, ": its lowering yields ", made.dtype, made.shape, ", not ",
                                  results[i].dtype, results[i].shape);
  }
  return graph;
}

}  // namespace

std::optional<Graph> lowering_for(core::Device& device, core::OpId op, const core::Attributes& attributes,
                                  std::span<const TensorType> inputs, std::span<const TensorType> results) {
  return lowering_for(target_of(device), op, attributes, inputs, results);
}

Graph lowered(Graph graph, core::Device& device) { return lowered(std::move(graph), target_of(device)); }

Graph lowered(Graph graph, const LoweringTarget& target) {  // NOLINT(misc-no-recursion)
  std::vector<std::optional<Graph>> lowerings(graph.nodes().size());
  bool any = false;
  for (std::size_t i = 0; i < lowerings.size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (core::definition(node.op).lower == nullptr) continue;
    std::vector<TensorType> inputs, results;
    for (const Port input : graph.inputs_of(node)) inputs.push_back(graph.type(input));
    for (std::uint32_t r = 0; r < node.result_count; ++r) results.push_back(graph.type(node.first_result + r));
    lowerings[i] = lowering_for(target, node.op, graph.attributes(node), inputs, results);
    any = any || lowerings[i].has_value();
  }
  if (!any) return graph;

  core::GraphBuilder builder;
  core::GraphCopy copy(graph, builder);
  copy.add_inputs();
  for (std::size_t i = 0; i < lowerings.size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (copy.has(node)) continue;
    if (!lowerings[i]) {
      copy.add(node);
      continue;
    }
    const Graph& inner = *lowerings[i];
    core::GraphCopy parts(inner, builder);
    for (std::size_t k = 0; k < inner.inputs().size(); ++k) {
      parts[inner.inputs()[k].port] = copy[graph.inputs_of(node)[k]];
    }
    for (const GraphNode& part : inner.nodes()) {
      if (!parts.has(part)) parts.add(part, node.label);
    }
    for (std::uint32_t r = 0; r < node.result_count; ++r) copy[node.first_result + r] = parts[inner.outputs()[r]];
  }
  return copy.finish();
}

}  // namespace tyto::run
