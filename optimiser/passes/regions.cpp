// SPDX-License-Identifier: MIT
// Loops and branches: what nobody reads is not computed, what does not change is not carried, and a branch whose number
// is known is the arm that it chooses.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/region_builder.hpp"
#include "optimiser/passes/scalar_constant.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

/// The parts of a region that are kept: inputs in their new order, outputs, and the new values of the first inputs.
struct Kept {
  std::vector<std::uint32_t> inputs;
  std::vector<Port> outputs;
  std::vector<Port> updates;
};

core::Region reduced(const Graph& graph, const Kept& kept) {
  RegionBuilder builder(graph);
  for (const std::uint32_t input : kept.inputs) builder.keep_input(input);
  return builder.finish(kept.outputs, kept.updates);
}

class RegionSimplifier {
 public:
  explicit RegionSimplifier(PassContext& context) : context_(context), editor_(context.editor) {}

  void run() {
    editor_.sweep([&](Index index) {
      const OpId op = editor_.node(index).op;
      if (op != OpId::loop && op != OpId::branch) return;
      if (is_unread(index)) editor_.remove(index);
      else if (op == OpId::loop) simplify_loop(index);
      else simplify_branch(index);
    });
  }

 private:
  bool is_read(Port port) { return editor_.consumers(port) != 0; }
  bool is_unread(Index index) {
    const GraphNode& node = editor_.node(index);
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      if (is_read(node.first_result + i)) return false;
    }
    return true;
  }

  // Carries of which the loop's results, its condition or its stacks need none go; those that keep their value are
  // captures; captures, rows and numbers that the body does not read are no operands.
  void simplify_loop(Index index) {
    const core::IterationAttributes loop = editor_.attributes_as<core::IterationAttributes>(index);
    const Graph& body = loop.body.graph();
    const Port first = editor_.node(index).first_result;
    const auto inputs = editor_.inputs(index);
    const std::vector<Port> operands(inputs.begin(), inputs.end());
    const auto carries = static_cast<std::uint32_t>(loop.carries);
    const std::size_t first_carry = std::size_t{loop.counted} + std::size_t{loop.tested} + std::size_t{loop.keyed};

    std::vector<bool> constant(carries);
    for (std::uint32_t j = 0; j < carries; ++j) constant[j] = body.updates()[j].port == body.inputs()[j].port;
    Kept kept;
    core::IterationAttributes made = loop;
    std::vector<std::uint32_t> stacks;
    if (loop.tested) kept.outputs.push_back(body.outputs()[0]);
    for (std::uint32_t k = 0; k < loop.stacked; ++k) {
      if (!is_read(first + carries + k)) continue;
      stacks.push_back(k);
      kept.outputs.push_back(body.outputs()[k + (loop.tested ? 1 : 0)]);
    }
    made.stacked = static_cast<std::int64_t>(stacks.size());
    made.histories = std::ranges::count_if(stacks, [&](std::uint32_t k) { return k >= loop.stacked - loop.histories; });
    std::vector<bool> carried(carries, false);
    std::vector<Port> roots = kept.outputs;
    for (std::uint32_t j = 0; j < carries; ++j) {
      carried[j] = !constant[j] && is_read(first + j);
      if (carried[j]) roots.push_back(body.updates()[j].port);
    }
    std::vector<bool> needed = needed_by(body, roots);
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t j = 0; j < carries; ++j) {
        if (carried[j] || constant[j] || !needed[body.inputs()[j].port]) continue;
        carried[j] = more = true;
        roots.push_back(body.updates()[j].port);
      }
      if (more) needed = needed_by(body, roots);
    }

    std::vector<Port> given(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(first_carry));
    const auto keep = [&](std::uint32_t input, Port operand) {
      kept.inputs.push_back(input);
      given.push_back(operand);
    };
    for (std::uint32_t j = 0; j < carries; ++j) {
      if (!carried[j]) continue;
      keep(j, operands[first_carry + j]);
      kept.updates.push_back(body.updates()[j].port);
    }
    made.carries = static_cast<std::int64_t>(kept.updates.size());
    std::uint32_t next = carries;  // among the body's inputs
    if (loop.numbered) {
      made.numbered = needed[body.inputs()[next].port];
      if (made.numbered) kept.inputs.push_back(next);
      ++next;
    }
    if (loop.keyed) {
      made.keyed = needed[body.inputs()[next].port];
      if (made.keyed) kept.inputs.push_back(next);
      else given.erase(given.begin() + static_cast<std::ptrdiff_t>(first_carry) - 1);
      ++next;
    }
    made.rows = 0;
    for (std::size_t i = first_carry + carries; i < operands.size(); ++i, ++next) {
      if (!needed[body.inputs()[next].port]) continue;
      if (i < first_carry + carries + static_cast<std::size_t>(loop.rows)) ++made.rows;
      keep(next, operands[i]);
    }
    for (std::uint32_t j = 0; j < carries; ++j) {
      if (constant[j] && needed[body.inputs()[j].port]) keep(j, operands[first_carry + j]);
    }
    for (std::uint32_t j = 0; j < carries; ++j) {
      if (!constant[j] || !is_read(first + j)) continue;
      editor_.replace(first + j, operands[first_carry + j]);
      context_.fired("kept_carry");
    }
    const bool same = made.carries == loop.carries && made.stacked == loop.stacked && made.rows == loop.rows &&
                      made.numbered == loop.numbered && made.keyed == loop.keyed && given.size() == operands.size();
    if (same || !editor_.is_alive(index)) return;
    made.body = reduced(body, kept);
    const bool tested = loop.tested;
    const auto stacked = static_cast<std::uint32_t>(loop.stacked);
    const Port result = editor_.add(index, OpId::loop, std::move(made), given);
    Port at = result;
    for (std::uint32_t j = 0; j < carries; ++j) {
      if (carried[j]) replace_read(first + j, at++);
    }
    for (const std::uint32_t k : stacks) replace_read(first + carries + k, at++);
    if (tested) replace_read(first + carries + stacked, at);
    editor_.remove(index);
    context_.fired("unused_in_loop");
  }

  void replace_read(Port old, Port by) {
    if (is_read(old)) editor_.replace(old, by);
  }

  void simplify_branch(Index index) {
    if (choose_known_arm(index)) return;
    const core::BranchAttributes branch = editor_.attributes_as<core::BranchAttributes>(index);
    const Port first = editor_.node(index).first_result;
    const std::uint32_t results = editor_.node(index).result_count;
    const auto inputs = editor_.inputs(index);
    const std::vector<Port> operands(inputs.begin(), inputs.end());
    std::vector<std::uint32_t> read;
    for (std::uint32_t i = 0; i < results; ++i) {
      if (is_read(first + i)) read.push_back(i);
    }
    std::vector<bool> taken(operands.size() - 1, false);
    std::vector<Kept> kept(branch.arms.size());
    for (std::size_t a = 0; a < branch.arms.size(); ++a) {
      const Graph& arm = branch.arms[a].graph();
      for (const std::uint32_t i : read) kept[a].outputs.push_back(arm.outputs()[i]);
      const std::vector<bool> needed = needed_by(arm, kept[a].outputs);
      for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = taken[i] || needed[arm.inputs()[i].port];
    }
    if (read.size() == results && std::ranges::all_of(taken, [](bool each) { return each; })) return;
    core::BranchAttributes made = branch;
    made.keyed = branch.keyed && taken[0];
    std::vector<Port> given{operands[0]};
    for (std::uint32_t i = 0; i < taken.size(); ++i) {
      if (!taken[i]) continue;
      given.push_back(operands[i + 1]);
      for (Kept& each : kept) each.inputs.push_back(i);
    }
    for (std::size_t a = 0; a < made.arms.size(); ++a) made.arms[a] = reduced(branch.arms[a].graph(), kept[a]);
    Port at = editor_.add(index, OpId::branch, std::move(made), given);
    for (const std::uint32_t i : read) editor_.replace(first + i, at++);
    editor_.remove(index);
    context_.fired("unused_in_branch");
  }

  bool choose_known_arm(Index index) {
    const core::BranchAttributes branch = editor_.attributes_as<core::BranchAttributes>(index);
    const std::optional<Scalar> number = scalar_of(editor_, editor_.input(index, 0));
    if (branch.keyed || (!number && branch.arms.size() != 1)) return false;
    const auto last = static_cast<std::int64_t>(branch.arms.size()) - 1;
    const std::int64_t chosen = number ? std::clamp<std::int64_t>(number->as_int(), 0, last) : 0;
    const Graph& arm = branch.arms[static_cast<std::size_t>(chosen)].graph();
    std::vector<Port> place(arm.port_count(), core::no_port);
    for (std::size_t i = 0; i < arm.inputs().size(); ++i) place[arm.inputs()[i].port] = editor_.input(index, i + 1);
    std::vector<Port> inputs;
    for (const GraphNode& node : arm.nodes()) {
      if (node.op == OpId::read && node.input_count == 0) continue;
      inputs.clear();
      for (const Port input : arm.inputs_of(node)) inputs.push_back(place[input]);
      const Port made = editor_.add(index, node.op, node.attributes, inputs);
      editor_.label_as(made, node);
      for (std::uint32_t i = 0; i < node.result_count; ++i) place[node.first_result + i] = made + i;
    }
    const Port first = editor_.node(index).first_result;
    for (std::uint32_t i = 0; i < arm.outputs().size(); ++i) replace_read(first + i, place[arm.outputs()[i]]);
    editor_.remove(index);
    context_.fired("known_arm");
    return true;
  }

  PassContext& context_;
  GraphEditor& editor_;
};

}  // namespace

void simplify_regions(PassContext& context) {
  if (context.editor.count(OpId::loop) + context.editor.count(OpId::branch) == 0) return;
  RegionSimplifier(context).run();
}

}  // namespace tyto::optimiser
