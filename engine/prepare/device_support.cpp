// SPDX-License-Identifier: MIT
// Asks the device about element types; regions and users' operators are not in its kernel table.
#include "engine/prepare/device_support.hpp"

#include <algorithm>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "engine/prepare/custom_kernel.hpp"
#include "engine/prepare/lowering.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

namespace {

// Regions are nested a few levels deep.
bool runs_region(core::Device& device, const core::Region& region) {  // NOLINT(misc-no-recursion)
  const core::Graph graph = lowered(core::Graph(region.graph()), device);
  return std::ranges::all_of(graph.nodes(), [&](const core::GraphNode& node) { return runs_on(device, graph, node); });
}

}  // namespace

bool runs_on(core::Device& device, const core::Graph& graph,  // NOLINT(misc-no-recursion)
             const core::GraphNode& node) {
  const core::OpDef& def = core::definition(node.op);
  if (&device == &cpu_device() || def.is(core::Traits::view) || def.is(core::Traits::leaf)) return true;
  const core::Attributes& attributes = graph.attributes(node);
  if (const auto regions = core::regions_of(attributes); !regions.empty()) {
    return std::ranges::all_of(regions, [&](const core::Region& region) { return runs_region(device, region); });
  }
  std::vector<DType> inputs, outputs;
  for (const core::Port input : graph.inputs_of(node)) inputs.push_back(graph.type(input).dtype);
  for (std::uint32_t i = 0; i < node.result_count; ++i) outputs.push_back(graph.type(node.first_result + i).dtype);
  if (node.op == core::OpId::custom) {
    return has_device_kernel(custom_operator(attributes), device, inputs, outputs);
  }
  return device.supports(node.op, inputs, outputs);
}

}  // namespace tyto::run
