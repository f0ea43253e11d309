// SPDX-License-Identifier: MIT
// Results of a branch in place of operands that an arm passes on or reads no more; of a loop, by its chains of carries.
#include "optimiser/storage/region_results.hpp"

#include <algorithm>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/storage/carries.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::optimiser {

using core::GraphNode;
using core::OpId;
using core::Port;
using core::Traits;

namespace {

/// The ports of a graph that show elements of one port's memory: it and the views of it.
std::vector<bool> views_of(const core::Graph& graph, Port port) {
  std::vector<bool> seen(graph.port_count(), false);
  seen[port] = true;
  for (const GraphNode& node : graph.nodes()) {
    const bool view = core::definition(node.op).is(Traits::view) && node.input_count != 0;
    if (view && seen[graph.inputs_of(node)[0]]) seen[node.first_result] = true;
  }
  return seen;
}

/// The nodes that have run when node `last` does, whatever the order.
std::vector<bool> nodes_before(const core::Graph& graph, std::uint32_t last) {
  std::vector<bool> before(graph.nodes().size(), false);
  std::vector<std::uint32_t> open{last};
  while (!open.empty()) {
    const GraphNode& node = graph.nodes()[open.back()];
    open.pop_back();
    for (const Port input : graph.inputs_of(node)) {
      const std::uint32_t producer = graph.producer(input);
      if (before[producer]) continue;
      before[producer] = true;
      open.push_back(producer);
    }
  }
  return before;
}

/// Whether the node may write its result over the arm's input `port`, of which nobody else reads anything any more.
bool may_write_over(const core::Graph& arm, const GraphNode& node, Port port, const std::vector<bool>& views) {
  const std::span<const Port> inputs = arm.inputs_of(node);
  if (!std::ranges::any_of(inputs, [&](Port input) { return views[input]; })) return true;
  if (node.result_count != 1) return false;
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    if (!views[inputs[slot]]) continue;
    const core::View whole = core::View::dense(arm.type(port).shape);
    if (inputs[slot] != port || !InPlaceRule(arm, node, node.first_result).allows(slot, whole, bytes_of(arm, port))) {
      return false;
    }
  }
  return true;
}

/// Whether the arm's output number `result` may lie where its input `port` does. Either the arm passes that on, or it
/// is no longer read when the first element of the output is written.
bool arm_allows(const core::Graph& arm, std::size_t result, Port port) {
  const Port output = arm.outputs()[result];
  if (output == port) return true;
  const std::vector<bool> views = views_of(arm, port);
  if (std::ranges::any_of(arm.outputs(), [&](Port each) { return views[each]; })) return false;
  // An output that no kernel computes into its place is copied there at the end.
  const Port computed = whole_behind(arm, output);
  const std::uint32_t index = arm.producer(computed);
  const GraphNode& made = arm.nodes()[index];
  if (core::definition(made.op).is(Traits::view) || core::definition(made.op).is(Traits::leaf)) return true;
  // Parts may be computed in the place that they have in the whole, before any other node runs.
  const bool whole = made.op == OpId::concat || made.op == OpId::pad || made.op == OpId::set_slice;
  const std::vector<bool> before = whole ? std::vector<bool>(arm.nodes().size(), false) : nodes_before(arm, index);
  for (std::uint32_t i = 0; i < arm.nodes().size(); ++i) {
    const GraphNode& node = arm.nodes()[i];
    if (i == index || before[i] || core::definition(node.op).is(Traits::view)) continue;
    if (std::ranges::any_of(arm.inputs_of(node), [&](Port input) { return views[input]; })) return false;
  }
  return may_write_over(arm, made, port, views);
}

}  // namespace

// Values of a chain of k carries go round in k + 1 places: those of the k initial values, and one of the kernel's,
// where the first iteration computes. After the last one a value lies as many places further as there were iterations,
// the one that came to the kernel's own place excepted: it goes where the value before the last k was.
std::optional<std::size_t> operand_under(const core::IterationAttributes& loop, std::size_t result) {
  const std::size_t first = std::size_t{loop.counted} + std::size_t{loop.tested} + std::size_t{loop.keyed};
  if (result >= static_cast<std::size_t>(loop.carries)) return std::nullopt;
  const core::Graph& body = loop.body.graph();
  if (is_chain_of_its_own(loop, static_cast<std::uint32_t>(result))) {
    const bool kept = std::ranges::count(body.outputs(), body.inputs()[result].port) != 0;
    return kept ? std::nullopt : std::optional(first + result);
  }
  if (loop.tested || loop.counted || loop.trips < 0) return std::nullopt;
  for (const CarryChain& chain : carry_chains(loop)) {
    const auto found = std::ranges::find(chain.members, result);
    if (found == chain.members.end()) continue;
    if (chain.cyclic || chain.stack || chain.history) return std::nullopt;
    const auto places = static_cast<std::int64_t>(chain.members.size()) + 1;
    const std::int64_t end = loop.trips % places, member = found - chain.members.begin();
    const std::int64_t from = member + 1 == end ? places - 1 - end : (member - end + places) % places;
    return first + chain.members[static_cast<std::size_t>(from)];
  }
  return std::nullopt;
}

bool may_lie_over(const core::BranchAttributes& branch, std::size_t result, std::size_t slot) {
  if (slot == 0 || (branch.keyed && slot == 1)) return false;  // which arm, and its key
  return std::ranges::all_of(branch.arms, [&](const core::Region& arm) {
    return arm_allows(arm.graph(), result, arm.graph().inputs()[slot - 1].port);
  });
}

}  // namespace tyto::optimiser
