// SPDX-License-Identifier: MIT
// Re-emits recorded nodes, oldest first: with other operands, or as the passes leave them.
#include "tyto/expressions.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/devices.hpp"
#include "engine/show/formula.hpp"
#include "ops/define.hpp"
#include "optimiser/passes/pass_selection.hpp"

namespace tyto TYTO_API {

namespace {

/// A leaf: contents, or a version of a state, also one whose contents are still to come.
bool is_leaf(const core::Node& node) {
  return node.inputs().empty() || node.evaluated() || node.op() == core::OpId::read;
}

/// The nodes that `x` depends on, oldest first, up to leaves.
std::vector<core::Node*> nodes_behind(const Value& x) {
  std::vector<core::Node*> found{x.node()};
  std::unordered_set<const core::Node*> seen{x.node()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (is_leaf(*found[i])) continue;
    for (const Value& input : found[i]->inputs()) {
      if (seen.insert(input.node()).second) found.push_back(input.node());
    }
  }
  std::ranges::sort(found, {}, &core::Node::sequence);
  return found;
}

bool is_draw(const core::Node& node) {
  return core::definition(node.op()).is(core::Traits::random) || core::definition(node.op()).is(core::Traits::effect);
}

/// A state is the same operand whichever of its versions was read.
bool is_same_operand(const core::Node& node, const core::Node& other) {
  if (&node == &other) return true;
  return node.op() == core::OpId::read && other.op() == core::OpId::read && node.attributes() == other.attributes();
}

void check_substitution(const Value& from, const Value& to) {
  core::require("substitute", from, to);
  if (from.dtype() != to.dtype()) {
    core::throw_error<TypeError>("substitute: ", name_of(to.dtype()), " cannot stand in for ", name_of(from.dtype()),
                                 "; cast it first");
  }
  if (from.shape() != to.shape()) {
    core::throw_error<ShapeError>("substitute: a tensor of shape ", to.shape(), " cannot stand in for one of shape ",
                                  from.shape());
  }
}

/// The results of nodes that were emitted again, by number.
using Results = std::vector<Value>;

Results emit_again(core::OpId op, std::shared_ptr<const core::Attributes> attributes, std::vector<Value> operands,
                   const core::Label& label, std::size_t results) {
  const core::LabelScope scope(label);
  const Value first = core::builder_of(core::Mode::lazy).emit(op, std::move(attributes), operands);
  Results all{first};
  for (std::uint32_t i = 1; i < results; ++i) all.push_back(core::result(first, i));
  return all;
}

}  // namespace

std::string formula(const Value& x, FormulaStyle style) {
  core::require("formula", x);
  const Value value = core::operand(x);
  return run::formula_of(run::trace({.outputs = {&value, 1}, .updates = {}, .inputs = {}}).graph, style);
}

Tensor<Lazy> substitute(const Tensor<Lazy>& x, const std::vector<Substitution>& substitutions) {
  core::require("substitute", x);
  const Value root = core::operand(x);
  std::vector<std::pair<Value, Value>> pairs;
  for (const Substitution& each : substitutions) {
    check_substitution(each.from, each.to);
    pairs.emplace_back(core::operand(each.from), core::operand(each.to));
  }
  // A node that depends on a placeholder never keeps its contents.
  std::uint64_t oldest = UINT64_MAX;
  for (const auto& [from, to] : pairs) {
    if (!from.node()->symbolic()) oldest = std::min(oldest, from.node()->sequence());
  }
  std::unordered_map<const core::Node*, Results> again;
  const auto now = [&](const Value& value) -> Value {
    for (const auto& [from, to] : pairs) {
      if (value.output() == from.output() && is_same_operand(*value.node(), *from.node())) return to;
    }
    const auto made = again.find(value.node());
    return made == again.end() ? value : made->second[value.output()];
  };
  const auto is_replaced = [&](const core::Node& node) {
    return std::ranges::any_of(pairs, [&](const auto& pair) { return is_same_operand(node, *pair.first.node()); });
  };
  for (core::Node* const node : nodes_behind(root)) {
    if (is_leaf(*node)) {
      // Computed values have dropped their inputs; contents older than the replaced values cannot depend on these.
      const bool given = node->mode() != core::Mode::lazy || core::definition(node->op()).max_inputs == 0 ||
                         node->op() == core::OpId::read || is_replaced(*node);
      if (given || node->sequence() < oldest) continue;
      core::throw_error<GraphError>(
          "substitute: a part of x, ", core::definition(node->op()).name, " of ", name_of(node->result(0).type.dtype),
          node->result(0).type.shape,
          ", is computed already and no longer knows of what; substitute before it is read, or replace a ",
          "placeholder, which nothing that is computed depends on");
    }
    std::vector<Value> operands;
    bool changed = false;
    for (const Value& input : node->inputs()) {
      operands.push_back(now(input));
      changed = changed || !same_value(operands.back(), input);
    }
    if (!changed) continue;
    again[node] =
        emit_again(node->op(), node->shared_attributes(), std::move(operands), node->label(), node->results().size());
  }
  return now(root);
}

Tensor<Lazy> simplify(const Tensor<Lazy>& x, const std::string& passes) {
  core::require("simplify", x);
  const Value root = core::operand(x);
  CompileOptions options;
  // Passes that only make kernels faster make expressions no simpler.
  options.passes = "-scaling,-padding,-hoist,-epilogues,-packing,-buckets,-fuse";
  if (!passes.empty()) options.passes += "," + passes;
  optimiser::PassSelection().apply(options.passes);  // throws for a word that is none, whatever x is
  std::vector<Value> leaves;
  for (core::Node* const node : nodes_behind(root)) {
    // Gradients are of the nodes that are there.
    if (is_draw(*node) || node->tracked()) return x;
    if (node->op() == core::OpId::read || core::holder_of(*node)) leaves.emplace_back(node, 0);
  }
  if (is_leaf(*root.node())) return x;
  PassReport unread;
  const core::Graph graph =
      run::optimised(run::trace({.outputs = {&root, 1}, .updates = {}, .inputs = {}, .captured = leaves}).graph,
                     run::current_device(), options, unread);
  std::vector<Value> values(graph.port_count());
  for (std::size_t i = 0; i < leaves.size(); ++i) values[graph.inputs()[i].port] = leaves[i];
  for (const core::GraphNode& node : graph.nodes()) {
    if (values[node.first_result]) continue;
    if (const core::Array* array = graph.constant(node.first_result)) {
      values[node.first_result] = core::constant(core::Mode::lazy, *array);
      continue;
    }
    std::vector<Value> operands;
    for (const core::Port input : graph.inputs_of(node)) operands.push_back(values[input]);
    const Results made = emit_again(node.op, node.attributes, std::move(operands), node.label, node.result_count);
    std::ranges::copy(made, values.begin() + node.first_result);
  }
  return values[graph.outputs()[0]];
}

}  // namespace TYTO_API
