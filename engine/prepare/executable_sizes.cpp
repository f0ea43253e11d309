// SPDX-License-Identifier: MIT
// Compares structure node by node; the plan goes through MemoryOrder, which is valid for any sizes.
#include "engine/prepare/executable_sizes.hpp"

#include <algorithm>
#include <vector>

#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

// A plan by order may pass the bound by this share before blocks are planned anew.
constexpr std::int64_t tolerated = 100;

bool same_structure_of_ports(const core::Graph& a, const core::Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.port_count() != b.port_count()) return false;
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const core::GraphNode& x = a.nodes()[i];
    const core::GraphNode& y = b.nodes()[i];
    if (x.op != y.op || !std::ranges::equal(a.inputs_of(x), b.inputs_of(y))) return false;
  }
  const auto same_update = [](const core::GraphUpdate& x, const core::GraphUpdate& y) {
    return x.input == y.input && x.port == y.port;
  };
  return std::ranges::equal(a.outputs(), b.outputs()) && std::ranges::equal(a.updates(), b.updates(), same_update);
}

double bytes_of_ports(const core::Graph& graph) {
  double sum = 1;
  for (core::Port port = 0; port < graph.port_count(); ++port) {
    sum += static_cast<double>(optimiser::bytes_of(graph, port));
  }
  return sum;
}

}  // namespace

const Executable* same_program(const Executable& executable,
                               std::span<const std::shared_ptr<const Executable>> related) {
  const double own = bytes_of_ports(executable.graph());
  const Executable* nearest = nullptr;
  double smallest = 0;
  for (const std::shared_ptr<const Executable>& other : related) {
    if (&other->device() != &executable.device() || other->options().schedule != executable.options().schedule ||
        !same_structure_of_ports(other->graph(), executable.graph())) {
      continue;
    }
    const double ratio = bytes_of_ports(other->graph()) / own;
    const double distance = std::max(ratio, 1 / ratio);
    if (nearest != nullptr && distance >= smallest) continue;
    nearest = other.get();
    smallest = distance;
  }
  return nearest;
}

std::optional<MemoryPlan> plan_by_order(const Executable& related, std::span<const Block> blocks,
                                        const PlanOptions& options) {
  const auto same_lifetime = [](const Block& a, const Block& b) {
    return a.lower == b.lower && a.upper == b.upper && a.alignment == b.alignment &&
           std::ranges::equal(a.spans, b.spans);
  };
  // Kernels for another size may do without a workspace: what is missing is a block without bytes.
  std::vector<Block> with_missing;
  std::vector<std::size_t> own;
  for (const Block& each : related.blocks()) {
    const bool is_own = own.size() < blocks.size() && same_lifetime(each, blocks[own.size()]);
    with_missing.push_back(is_own ? blocks[own.size()] : each);
    if (is_own) own.push_back(with_missing.size() - 1);
    else with_missing.back().size = 0;
  }
  if (own.size() != blocks.size()) return {};
  MemoryPlan plan = MemoryOrder(related.blocks(), related.plan(), options).apply(with_missing);
  if (plan.height - plan.bound > plan.bound / tolerated) return {};
  for (std::size_t i = 0; i < own.size(); ++i) {
    plan.offsets[i] = plan.offsets[own[i]];
    if (!plan.arenas.empty()) plan.arenas[i] = plan.arenas[own[i]];
  }
  plan.offsets.resize(own.size());
  if (!plan.arenas.empty()) plan.arenas.resize(own.size());
  return plan;
}

}  // namespace tyto::run
