// SPDX-License-Identifier: MIT
// Copies the needed part of a region.
#include "optimiser/passes/region_builder.hpp"

#include "core/graph/op_ids.hpp"

namespace tyto::optimiser {

std::vector<bool> needed_by(const Graph& graph, std::span<const Port> roots, const std::vector<bool>& given) {
  std::vector<bool> needed(graph.port_count(), false);
  std::vector<Port> pending(roots.begin(), roots.end());
  while (!pending.empty()) {
    const Port port = pending.back();
    pending.pop_back();
    if (needed[port]) continue;
    if (!given.empty() && given[port]) {
      needed[port] = true;
      continue;
    }
    const GraphNode& node = graph.nodes()[graph.producer(port)];
    for (std::uint32_t i = 0; i < node.result_count; ++i) needed[node.first_result + i] = true;
    for (const Port input : graph.inputs_of(node)) pending.push_back(input);
  }
  return needed;
}

void RegionBuilder::keep_input(std::uint32_t input) {
  const core::GraphInput& old = region_.inputs()[input];
  core::GraphInput same;
  same.name = old.name;
  places_[old.port] = builder_.add_input(region_.type(old.port), std::move(same));
}

Port RegionBuilder::add_input(const core::TensorType& type) { return builder_.add_input(type, core::GraphInput()); }

core::Region RegionBuilder::finish(std::span<const Port> outputs, std::span<const Port> updates) {
  std::vector<Port> roots(outputs.begin(), outputs.end());
  roots.insert(roots.end(), updates.begin(), updates.end());
  std::vector<bool> given(region_.port_count());
  for (Port port = 0; port < given.size(); ++port) given[port] = places_[port] != core::no_port;
  const std::vector<bool> needed = needed_by(region_, roots, given);
  for (const GraphNode& node : region_.nodes()) {
    if (needed[node.first_result] && !given[node.first_result]) places_.add(node);
  }
  for (const Port output : outputs) builder_.add_output(places_[output]);
  for (std::uint32_t i = 0; i < updates.size(); ++i) builder_.add_update(i, places_[updates[i]]);
  return core::Region(builder_.finish());
}

}  // namespace tyto::optimiser
