// SPDX-License-Identifier: MIT
// Assigns every port a storage and a view of it, in one pass over the nodes.
#include "optimiser/storage/storages.hpp"

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "optimiser/storage/region_results.hpp"

namespace tyto::optimiser {

using core::GraphNode;
using core::OpDef;
using core::OpId;
using core::Port;
using core::Traits;
using core::View;

std::size_t bytes_of(const core::Graph& graph, Port port) {
  const core::TensorType& type = graph.type(port);
  return static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
}

Port whole_behind(const core::Graph& graph, Port port) {
  for (;;) {
    const GraphNode& node = graph.nodes()[graph.producer(port)];
    const OpDef& def = core::definition(node.op);
    if (!def.is(Traits::view) || node.input_count == 0) return port;
    const Port input = graph.inputs_of(node)[0];
    const std::optional<View> seen = def.view(graph.attributes(node), View::dense(graph.type(input).shape));
    if (!seen || !core::is_dense(*seen) || seen->offset != 0 || bytes_of(graph, input) != bytes_of(graph, port))
      return port;
    port = input;
  }
}

Targets choose_targets(const core::Graph& graph, bool outputs_in_place) {
  Targets targets;
  targets.output_of.assign(graph.port_count(), nothing);
  targets.update_of.assign(graph.port_count(), nothing);
  targets.direct.assign(graph.outputs().size(), false);
  for (std::uint32_t i = 0; i < graph.updates().size(); ++i) {
    std::uint32_t& update = targets.update_of[graph.updates()[i].port];
    if (update == nothing) update = i;
  }
  if (!outputs_in_place) return targets;
  for (std::uint32_t i = 0; i < graph.outputs().size(); ++i) {
    const Port port = whole_behind(graph, graph.outputs()[i]);
    const OpDef& def = core::definition(graph.nodes()[graph.producer(port)].op);
    const bool computed = !def.is(Traits::view) && !def.is(Traits::leaf);
    if (computed && targets.output_of[port] == nothing && targets.update_of[port] == nothing) {
      targets.output_of[port] = i;
      targets.direct[i] = true;
    }
  }
  return targets;
}

InPlaceRule::InPlaceRule(const core::Graph& graph, const GraphNode& node, Port result)
    : graph_(graph), node_(node), result_(result) {
  if (node.op != OpId::loop) return;
  initial_ = operand_under(std::get<core::IterationAttributes>(*node.attributes), result - node.first_result);
}

bool InPlaceRule::allows(std::size_t slot, const View& input_view, std::size_t storage_bytes) const {
  const core::InPlace rule = core::definition(node_.op).in_place;
  if (rule == core::InPlace::none) return false;
  if (rule == core::InPlace::update_first_input && slot != 0) return false;
  // A group's reductions are written while others still read rows.
  if (node_.op == OpId::fused) {
    const auto& group = std::get<core::LoopAttributes>(*node_.attributes);
    const bool whole = group.axes.empty() || graph_.type(result_).shape == group.shape;
    if (!whole || core::ends_in_its_only_reduction(group.program)) return false;
  }
  // A product with an epilogue reads only the residual element by element.
  if (node_.op == OpId::matmul_epilogue || node_.op == OpId::convolution_epilogue) {
    if (!std::get<core::ProductAttributes>(*node_.attributes).residual || slot + 1 != node_.input_count) return false;
  }
  const Port input = graph_.inputs_of(node_)[slot];
  // Elements of one width: half of a wide memory has the bytes of a narrow whole, but not its elements' places.
  const bool same = size_of(graph_.type(input).dtype) == size_of(graph_.type(result_).dtype) &&
                    storage_bytes == bytes_of(graph_, result_) &&
                    graph_.type(input).shape == graph_.type(result_).shape && core::is_dense(input_view) &&
                    input_view.offset == 0;
  if (!same || rule != core::InPlace::by_region) return same;
  if (node_.op == OpId::loop) return slot == initial_;
  return may_lie_over(std::get<core::BranchAttributes>(*node_.attributes), result_ - node_.first_result, slot);
}

Storages::Storages(const core::Graph& graph, bool outputs_in_place)
    : graph_(graph), targets_(choose_targets(graph, outputs_in_place)) {
  const std::size_t ports = graph.port_count();
  storage_of_.assign(ports, nothing);
  view_of_.assign(ports, nothing);
  free_.assign(graph.nodes().size(), false);
  kind_.reserve(ports);
  bytes_.reserve(ports);
  for (std::uint32_t index = 0; index < graph.nodes().size(); ++index) {
    const GraphNode& node = graph.nodes()[index];
    const OpDef& def = core::definition(node.op);
    if (node.op == OpId::constant || (node.op == OpId::read && node.input_count == 0)) {
      free_[index] = true;
      storage_of_[node.first_result] = add(node.op == OpId::constant ? StorageKind::constant : StorageKind::input,
                                           bytes_of(graph, node.first_result));
    } else if (def.is(Traits::view)) {
      add_view(node, index);
    } else {
      for (Port port = node.first_result; port < node.first_result + node.result_count; ++port) {
        const bool output = targets_.output_of[port] != nothing;
        storage_of_[port] = add(output ? StorageKind::output : StorageKind::planned, bytes_of(graph, port));
      }
    }
  }
}

std::uint32_t Storages::add(StorageKind kind, std::size_t bytes) {
  kind_.push_back(kind);
  bytes_.push_back(bytes);
  return static_cast<std::uint32_t>(kind_.size() - 1);
}

void Storages::add_view(const GraphNode& node, std::uint32_t index) {
  const OpDef& def = core::definition(node.op);
  const Port input = graph_.inputs_of(node)[0];
  const Port result = node.first_result;
  const View place = view(input);
  std::optional<View> seen = def.view(graph_.attributes(node), place);
  if (seen) {
    free_[index] = true;
    storage_of_[result] = storage_of_[input];
  } else {
    // Strides cannot express it: it is a view of a dense copy.
    seen = def.view(graph_.attributes(node), View::dense(place.shape));
    storage_of_[result] = add(StorageKind::planned, bytes_of(graph_, input));
  }
  if (core::is_dense(*seen) && seen->offset == 0) return;
  view_of_[result] = static_cast<std::uint32_t>(views_.size());
  views_.push_back(std::move(*seen));
}

View Storages::view(Port port) const {
  return view_of_[port] == nothing ? View::dense(graph_.type(port).shape) : views_[view_of_[port]];
}

}  // namespace tyto::optimiser
