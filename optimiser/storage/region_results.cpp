// What a body does with one of its inputs decides.
#include "optimiser/storage/region_results.hpp"

#include <algorithm>

#include "core/op_ids.hpp"
#include "optimiser/storage/carries.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::optimiser {

using core::GraphNode;
using core::OpId;
using core::Port;
using core::Traits;

namespace {

bool is_leaf(const GraphNode& node) {
  return node.op == OpId::constant || (node.op == OpId::read && node.input_count == 0);
}

/// Whether the arm's output number `result` may lie where its input `port` does.
bool arm_allows(const core::Graph& arm, std::size_t result, Port port) {
  const Port output = arm.outputs()[result];
  if (output == port) return true;
  const auto uses = [&](std::span<const Port> ports) { return std::ranges::count(ports, port); };
  if (uses(arm.outputs()) != 0) return false;
  const GraphNode& made = arm.nodes()[arm.producer(output)];
  for (const GraphNode& node : arm.nodes()) {
    if (&node != &made && uses(arm.inputs_of(node)) != 0) return false;
  }
  const std::span<const Port> inputs = arm.inputs_of(made);
  if (uses(inputs) == 0) return true;
  // What is computed before it may lie in the result's memory, and would be written over the input.
  const bool alone = made.result_count == 1 && core::definition(made.op).in_place == core::InPlace::same_index &&
                     std::ranges::all_of(inputs, [&](Port each) { return is_leaf(arm.nodes()[arm.producer(each)]); });
  if (!alone) return false;
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    if (inputs[slot] != port) continue;
    const core::View whole = core::View::dense(arm.type(port).shape);
    if (!may_run_in_place(arm, made, output, slot, whole, bytes_of(arm, port))) return false;
  }
  return true;
}

}  // namespace

bool may_lie_over(const core::IterationAttributes& loop, std::size_t result, std::size_t slot) {
  const std::size_t first = std::size_t{loop.counted} + std::size_t{loop.tested} + std::size_t{loop.keyed};
  if (result >= static_cast<std::size_t>(loop.carries) || slot != first + result) return false;
  const core::Graph& body = loop.body.graph();
  const bool kept = std::ranges::count(body.outputs(), body.inputs()[result].port) != 0;
  return !kept && is_chain_of_its_own(loop, static_cast<std::uint32_t>(result));
}

bool may_lie_over(const core::BranchAttributes& branch, std::size_t result, std::size_t slot) {
  if (slot == 0 || (branch.keyed && slot == 1)) return false;  // which arm, and its key
  return std::ranges::all_of(branch.arms, [&](const core::Region& arm) {
    return arm_allows(arm.graph(), result, arm.graph().inputs()[slot - 1].port);
  });
}

}  // namespace tyto::optimiser
