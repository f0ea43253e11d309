// SPDX-License-Identifier: MIT
// Sinking into arms: what only one arm of a branch reads is computed in that arm, when it is chosen.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/region_builder.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

class ArmSinker {
 public:
  explicit ArmSinker(PassContext& context) : context_(context), editor_(context.editor) {}

  void run() {
    find_varying();
    editor_.sweep([&](Index index) {
      if (editor_.node(index).op == OpId::branch) sink_into(index);
    });
  }

 private:
  // What depends on constants and on states that this graph does not change is computed once and kept by sessions:
  // in an arm it would be computed in each run.
  void find_varying() {
    varies_.assign(editor_.index_limit(), false);
    for (const core::GraphInput& input : editor_.graph_inputs()) {
      const bool kept = input.state != nullptr && input.state->kind() != core::State::Kind::placeholder;
      varies_[editor_.producer(input.port)] = !kept;
    }
    for (const core::GraphUpdate& update : editor_.updates()) {
      varies_[editor_.producer(editor_.graph_inputs()[update.input].port)] = true;
    }
    for (const Index index : editor_.order()) {
      for (const Port input : editor_.inputs(index)) {
        if (varies_[editor_.producer(input)]) varies_[index] = true;
      }
    }
  }

  bool varies(Index index) const { return index >= varies_.size() || varies_[index]; }

  std::size_t bytes_of(Port port) const {
    return static_cast<std::size_t>(element_count(editor_.shape(port))) * size_of(editor_.dtype(port));
  }

  // Whether the operand's producer may move: nobody else reads it, and what it reads in the arm instead does not
  // keep more memory alive until the branch than it does now, unless it is costly.
  bool may_sink(Port operand) {
    const Index producer = editor_.producer(operand);
    const GraphNode& node = editor_.node(producer);
    const core::OpDef& def = editor_.definition(producer);
    if (node.input_count == 0 || node.result_count != 1 || editor_.consumers(operand) != 1 || !varies(producer) ||
        def.is(Traits::leaf) || !depends_on_operands_only(node)) {
      return false;
    }
    std::size_t kept = 0;
    for (const Port input : editor_.inputs(producer)) {
      const Index source = editor_.producer(input);
      const bool dies = editor_.consumers(input) == 1 && !editor_.definition(source).is(Traits::leaf);
      // A view is moved for the sake of what it is a view of.
      if (def.is(Traits::view) && !dies) return false;
      if (dies) kept += bytes_of(input);
    }
    const bool cheap = def.is(Traits::elementwise) || def.is(Traits::reduction);
    return !cheap || kept <= bytes_of(operand);
  }

  void sink_into(Index index) {
    const core::BranchAttributes branch = editor_.attributes_as<core::BranchAttributes>(index);
    if (branch.arms.size() < 2) return;
    const auto inputs = editor_.inputs(index);
    const std::vector<Port> operands(inputs.begin(), inputs.end());
    for (std::size_t i = branch.keyed ? 2 : 1; i < operands.size(); ++i) {
      if (!may_sink(operands[i])) continue;
      std::size_t readers = 0, arm = 0;
      for (std::size_t a = 0; a < branch.arms.size(); ++a) {
        const Graph& region = branch.arms[a].graph();
        if (!needed_by(region, region.outputs())[region.inputs()[i - 1].port]) continue;
        ++readers;
        arm = a;
      }
      if (readers != 1) continue;
      sink(index, branch, operands, i, arm);
      return;  // what was made in its place is visited next
    }
  }

  void sink(Index index, core::BranchAttributes branch, std::vector<Port> operands, std::size_t number,
            std::size_t arm) {
    const Index producer = editor_.producer(operands[number]);
    const GraphNode moved = editor_.node(producer);
    const auto read = editor_.inputs(producer);
    const std::vector<Port> sources(read.begin(), read.end());
    std::vector<Port> given = operands;
    given.erase(given.begin() + static_cast<std::ptrdiff_t>(number));
    std::vector<Port> added;
    // The arm's key is made of the branch's: who reads the branch's own gets it as any other operand.
    const std::ptrdiff_t first = branch.keyed ? 2 : 1;
    for (const Port source : sources) {
      if (std::ranges::find(given.begin() + first, given.end(), source) != given.end()) continue;
      given.push_back(source);
      added.push_back(source);
    }
    for (std::size_t a = 0; a < branch.arms.size(); ++a) {
      const Graph& region = branch.arms[a].graph();
      RegionBuilder builder(region);
      std::vector<Port> places;  // of the operands, from number 1 on
      for (std::uint32_t i = 0; i < region.inputs().size(); ++i) {
        if (i + 1 == number) continue;
        builder.keep_input(i);
        places.push_back(builder.place(region.inputs()[i].port));
      }
      for (const Port source : added) {
        places.push_back(builder.add_input({editor_.dtype(source), editor_.shape(source), false}));
      }
      if (a == arm) {
        std::vector<Port> inputs;
        for (const Port source : sources) {
          const auto at = std::ranges::find(given.begin() + first, given.end(), source) - (given.begin() + 1);
          inputs.push_back(places[static_cast<std::size_t>(at)]);
        }
        builder.replace(region.inputs()[number - 1].port, builder.add(moved, inputs));
      }
      branch.arms[a] = builder.finish(region.outputs(), {});
    }
    const GraphNode old = editor_.node(index);
    const Port made = editor_.add(index, OpId::branch, std::move(branch), given);
    for (std::uint32_t i = 0; i < old.result_count; ++i) {
      if (editor_.consumers(old.first_result + i) != 0) editor_.replace(old.first_result + i, made + i);
    }
    if (editor_.is_alive(index)) editor_.remove(index);
    context_.fired("sunk_into_arm");
  }

  PassContext& context_;
  GraphEditor& editor_;
  std::vector<bool> varies_;  // by node: it may change from run to run
};

}  // namespace

void sink_into_arms(PassContext& context) {
  if (context.editor.count(OpId::branch) != 0) ArmSinker(context).run();
}

}  // namespace tyto::optimiser
