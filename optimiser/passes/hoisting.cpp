// SPDX-License-Identifier: MIT
// Hoisting: what depends on captures alone is the same in every iteration, and is computed once, before the loop.
#include "optimiser/passes/hoisting.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/region_builder.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

bool is_input(const GraphNode& node) { return node.op == OpId::read && node.input_count == 0; }

class BodyHoister {
 public:
  BodyHoister(GraphEditor& editor, Index index, WorthHoisting worth)
      : editor_(editor),
        index_(index),
        worth_(worth),
        loop_(editor.attributes_as<core::IterationAttributes>(index)),
        operands_(editor.inputs(index).begin(), editor.inputs(index).end()) {}

  std::size_t run() {
    hoist_within();
    const Graph& body = loop_.body.graph();
    choose(body);
    std::vector<Port> roots(body.outputs().begin(), body.outputs().end());
    std::vector<Port> updates;
    for (const core::GraphUpdate& update : body.updates()) updates.push_back(update.port);
    roots.insert(roots.end(), updates.begin(), updates.end());
    const std::vector<bool> needed = needed_by(body, roots, chosen_);
    std::vector<Port> crossing;
    for (Port port = 0; port < body.port_count(); ++port) {
      if (needed[port] && chosen_[port]) crossing.push_back(port);
    }
    if (crossing.empty() && within_ == 0) return 0;
    compute_before(body, crossing);
    RegionBuilder builder(body);
    for (std::uint32_t i = 0; i < body.inputs().size(); ++i) builder.keep_input(i);
    for (const Port port : crossing) {
      builder.replace(port, builder.add_input(body.type(port)));
      operands_.push_back(before_[port]);
    }
    core::Region made = builder.finish(body.outputs(), updates);
    loop_.body = std::move(made);
    const GraphNode old = editor_.node(index_);
    const Port first = editor_.add(index_, OpId::loop, std::move(loop_), operands_);
    for (std::uint32_t i = 0; i < old.result_count; ++i) {
      if (editor_.consumers(old.first_result + i) != 0) editor_.replace(old.first_result + i, first + i);
    }
    if (editor_.is_alive(index_)) editor_.remove(index_);
    return crossing.size() + within_;
  }

 private:
  // A node that moves out of a loop in the body may move on, out of this one.
  void hoist_within() {
    const Graph& body = loop_.body.graph();
    if (std::ranges::none_of(body.nodes(), [](const GraphNode& node) { return node.op == OpId::loop; })) return;
    GraphEditor inner{Graph(body)};
    within_ = hoist(inner, worth_);
    if (within_ != 0) loop_.body = core::Region(inner.finish());
  }

  std::size_t first_capture() const {
    return static_cast<std::size_t>(loop_.carries + loop_.rows) + loop_.numbered + loop_.keyed;
  }

  void choose(const Graph& body) {
    std::vector<bool> same(body.port_count(), false);
    chosen_.assign(body.port_count(), false);
    for (std::size_t i = first_capture(); i < body.inputs().size(); ++i) same[body.inputs()[i].port] = true;
    for (const GraphNode& node : body.nodes()) {
      if (is_input(node) || !depends_on_operands_only(node)) continue;
      const auto inputs = body.inputs_of(node);
      if (!std::ranges::all_of(inputs, [&](Port input) { return same[input]; })) continue;
      const bool worth = worth_(body, node);
      for (std::uint32_t i = 0; i < node.result_count; ++i) {
        same[node.first_result + i] = true;
        chosen_[node.first_result + i] = worth;
      }
    }
  }

  void compute_before(const Graph& body, std::span<const Port> crossing) {
    before_.assign(body.port_count(), core::no_port);
    const std::size_t inputs = body.inputs().size();
    for (std::size_t i = first_capture(); i < inputs; ++i) {
      before_[body.inputs()[i].port] = operands_[operands_.size() - (inputs - i)];
    }
    const std::vector<bool> needed = needed_by(body, crossing);
    std::vector<Port> given;
    for (const GraphNode& node : body.nodes()) {
      if (!needed[node.first_result] || is_input(node)) continue;
      given.clear();
      for (const Port input : body.inputs_of(node)) given.push_back(before_[input]);
      const Port first = editor_.add(index_, node.op, node.attributes, given);
      editor_.label_as(first, node);
      for (std::uint32_t i = 0; i < node.result_count; ++i) before_[node.first_result + i] = first + i;
    }
  }

  GraphEditor& editor_;
  Index index_;
  WorthHoisting worth_;
  core::IterationAttributes loop_;
  std::vector<Port> operands_;
  std::size_t within_ = 0;    // tensors that moved out of loops in the body
  std::vector<bool> chosen_;  // ports of the body that are to be computed before
  std::vector<Port> before_;  // where they are then, and what they are computed from
};

// Views cost nothing where they are. The result of an element-wise operator that broadcasts would be read from memory
// in each iteration instead of being computed along with its consumers. A loop that may not end must not run where the
// loop around it would have had no iterations.
bool is_worth_hoisting(const Graph& body, const GraphNode& node) {
  const core::OpDef& def = core::definition(node.op);
  if (def.is(Traits::leaf) || def.is(Traits::view)) return false;
  if (node.op == OpId::loop) {
    const auto& loop = std::get<core::IterationAttributes>(body.attributes(node));
    return !loop.tested || loop.trips >= 0;
  }
  if (!def.is(Traits::elementwise)) return true;
  std::size_t most = 0;
  for (const Port input : body.inputs_of(node)) most = std::max(most, bytes_of(body, input));
  return bytes_of(body, node.first_result) <= most;
}

}  // namespace

std::size_t hoist(GraphEditor& editor, WorthHoisting worth) {
  if (editor.count(OpId::loop) == 0) return 0;
  std::size_t moved = 0;
  editor.sweep([&](Index index) {
    if (editor.node(index).op == OpId::loop) moved += BodyHoister(editor, index, worth).run();
  });
  return moved;
}

void hoist_invariants(PassContext& context) {
  const std::size_t moved = hoist(context.editor, is_worth_hoisting);
  if (moved != 0) context.fired("hoisted", moved);
}

}  // namespace tyto::optimiser
