// SPDX-License-Identifier: MIT
// Decides which parts of concat-like nodes (concat, padding with a constant, set_slice) are computed in place.
#include "core/graph/op_ids.hpp"
#include "engine/prepare/executable_builder.hpp"

#include <algorithm>

#include "engine/prepare/device_support.hpp"

namespace tyto::run {

using core::GraphNode;
using core::OpId;
using core::Port;
using core::View;

namespace {

bool is_concat_like(const core::Graph& graph, const GraphNode& node) {
  if (node.op == OpId::pad) {
    return std::get<core::PadAttributes>(graph.attributes(node)).mode == core::PadMode::constant;
  }
  return node.op == OpId::concat || node.op == OpId::set_slice;
}

/// A step with dense operands, but for those that are replaced.
struct DenseStep {
  DenseStep(const core::Graph& graph, const GraphNode& node) : op(node.op), attributes(&graph.attributes(node)) {
    for (const Port port : graph.inputs_of(node)) inputs.push_back(dense(graph.type(port)));
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      outputs.push_back(dense(graph.type(node.first_result + i)));
    }
  }
  static core::Operand dense(const core::TensorType& type) { return {type.dtype, View::dense(type.shape)}; }
  core::Step step() const { return {op, attributes, inputs, outputs}; }

  OpId op;
  const core::Attributes* attributes;
  std::vector<core::Operand> inputs, outputs;
};

/// Where the inputs of a concat or set_slice lie in its result.
std::vector<View> views_of_parts(const core::Graph& graph, const GraphNode& node, const View& result) {
  const core::Attributes& attributes = graph.attributes(node);
  const std::span<const Port> inputs = graph.inputs_of(node);
  const IntList ones(result.shape.size(), 1);
  if (const auto* part = std::get_if<core::SliceAttributes>(&attributes)) {
    return {result, core::slice(result, part->start, part->count, part->step)};
  }
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(attributes).axis);
  IntList start(result.shape.size(), 0);
  std::vector<View> part_views;
  for (const Port input : inputs) {
    part_views.push_back(core::slice(result, start, graph.type(input).shape, ones));
    start[axis] += graph.type(input).shape[axis];
  }
  return part_views;
}

}  // namespace

bool ExecutableBuilder::runs_on_host(const GraphNode& node) const { return split_ && !runs_on(device_, graph_, node); }

bool ExecutableBuilder::holds_regions(OpId op) { return op == OpId::loop || op == OpId::branch; }

bool ExecutableBuilder::can_write(std::uint32_t index, std::uint32_t result, const View& view) const {
  const GraphNode& node = graph_.nodes()[index];
  if (node.op == OpId::custom || holds_regions(node.op) || runs_on_host(node)) return false;
  const auto bytes = static_cast<std::size_t>(view.offset) * size_of(graph_.type(node.first_result + result).dtype);
  if (core::is_dense(view) && bytes % device_.properties().alignment == 0) return true;
  DenseStep step(graph_, node);
  step.outputs[result].view = view;
  return device_.writes_strided(step.step());
}

bool ExecutableBuilder::can_read(std::uint32_t index, std::size_t input, const View& view) const {
  const GraphNode& node = graph_.nodes()[index];
  if (node.op == OpId::custom || holds_regions(node.op) || runs_on_host(node)) return false;
  if (core::definition(node.op).is(core::Traits::elementwise)) return true;
  DenseStep step(graph_, node);
  step.inputs[input].view = view;
  return (device_.requires_dense(step.step()) >> std::min<std::size_t>(input, 63) & 1) == 0;
}

bool ExecutableBuilder::has_concat_like() const {
  return std::ranges::any_of(graph_.nodes(), [&](const GraphNode& node) { return is_concat_like(graph_, node); });
}

std::vector<optimiser::Destination> ExecutableBuilder::choose_destinations(std::span<const std::uint32_t> order) const {
  const optimiser::DestinationCallbacks callbacks{
      [&](std::uint32_t node, std::uint32_t result, const View& view) { return can_write(node, result, view); },
      [&](std::uint32_t node, std::size_t input, const View& view) { return can_read(node, input, view); },
      [&](std::uint32_t index) {
        const GraphNode& node = graph_.nodes()[index];
        return is_concat_like(graph_, node) && !runs_on_host(node);
      }};
  return optimiser::choose_destinations(graph_, order, callbacks);
}

// The kernels of both pass over the parts that are in place; padding always has its margins to fill.
bool ExecutableBuilder::parts_lie_in_place(const GraphNode& node, std::span<const Location> inputs,
                                           const Location& output) const {
  if (node.op != OpId::concat && node.op != OpId::set_slice) return false;
  const std::vector<View> part_views = views_of_parts(graph_, node, output.view);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool in_place = part_views[i].count() == 0 ||
                          (inputs[i].storage == output.storage && core::same_layout(inputs[i].view, part_views[i]));
    if (!in_place) return false;
  }
  return true;
}

}  // namespace tyto::run
