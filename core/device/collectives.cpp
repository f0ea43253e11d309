// SPDX-License-Identifier: MIT
// A call in words: operator, reduction, type, shape and the label of the layer. Operators around it in words: element
// type and label, but no views, shapes and numbers, which may be a process's own.
#include "core/device/collectives.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

void add_call(CollectiveCalls& calls, OpId op, const Attributes& attributes, const TensorType& type,
              const std::shared_ptr<const std::string>& label) {
  const CollectiveAttributes alone;
  const auto* given = std::get_if<CollectiveAttributes>(&attributes);
  const CollectiveAttributes& collective = given == nullptr ? alone : *given;
  std::string words(definition(op).name);
  if (op == OpId::all_reduce && given != nullptr) words += text('(', collective.reduction, ')');
  const std::string what = text(" of ", type.dtype, type.shape);
  if (op == OpId::broadcast) words += text(" from ", collective.root);
  words += what;
  if (op == OpId::send) words += text(" to ", collective.root);
  if (op == OpId::recv) words += text(" from ", collective.root);
  const std::string where = collective.group == 0 ? "" : text(" in group ", collective.group);
  words += where;
  if (label) words += text(" in '", *label, "'");
  if (op != OpId::send && op != OpId::recv) {
    calls.add(std::move(words), {collective.group});
    return;
  }
  const int own = process_group(collective.group).rank(), other = static_cast<int>(collective.root);
  const bool sends = op == OpId::send;
  calls.add(std::move(words), {collective.group, other, !sends},
            text("a message from ", sends ? own : other, " to ", sends ? other : own, what, where));
}

/// Adds nodes on which a call depends, also through the update of a state, or, in a region, the region's results.
void add_operators(const Graph& graph, bool is_region, std::string& lines) {
  const std::span<const GraphNode> nodes = graph.nodes();
  std::vector<bool> counts(nodes.size(), false);
  if (is_region) {
    for (const Port output : graph.outputs()) counts[graph.producer(output)] = true;
  }
  for (bool again = true; again;) {
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (has_effect(nodes[i])) counts[i] = true;
      if (!counts[i] || nodes[i].op == OpId::broadcast) continue;  // of which the root's operand alone matters
      for (const Port input : graph.inputs_of(nodes[i])) counts[graph.producer(input)] = true;
    }
    again = false;
    for (const GraphUpdate& update : graph.updates()) {
      const std::uint32_t value = graph.producer(update.port);
      const bool is_read = is_region || counts[graph.producer(graph.inputs()[update.input].port)];
      if (counts[value] || !is_read) continue;
      counts[value] = again = true;
    }
  }
  std::vector<bool> varies(nodes.size(), false);  // the others are constants where they were evaluated before
  for (const GraphInput& input : graph.inputs()) varies[graph.producer(input.port)] = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    const auto is_varying = [&](Port input) { return varies[graph.producer(input)]; };
    if (has_effect(node) || std::ranges::any_of(graph.inputs_of(node), is_varying)) varies[i] = true;
    // Numbers are a process's own, and the last part of what processes divide is filled up.
    const bool moves = definition(node.op).is(Traits::view) || node.op == OpId::pad;
    if (!counts[i] || !varies[i] || moves || node.input_count == 0) continue;
    lines += text(definition(node.op).name, " of ", graph.type(node.first_result).dtype);
    if (node.label) lines += text(" in '", *node.label, "'");
    lines += '\n';
    for (const Region& region : regions_of(graph.attributes(node))) add_operators(region.graph(), true, lines);
  }
}

}  // namespace

GraphOutline outline_of(const Graph& graph) {
  GraphOutline outline;
  std::optional<std::int64_t> group;
  for (const GraphNode& node : graph.nodes()) {
    if (!has_effect(node)) continue;
    const auto* given = std::get_if<CollectiveAttributes>(&graph.attributes(node));
    const std::int64_t its = given == nullptr ? 0 : given->group;
    if (node.op == OpId::send || node.op == OpId::recv || group.value_or(its) != its) return outline;
    group = its;
  }
  if (!group) return outline;
  add_operators(graph, false, outline.lines);
  outline.hash = fnv1a(std::as_bytes(std::span(outline.lines)));
  std::string arguments;
  for (const GraphInput& input : graph.inputs()) {
    if (input.state != nullptr && input.state->kind() != State::Kind::placeholder) continue;
    arguments += text(graph.type(input.port).dtype, graph.type(input.port).shape);
  }
  outline.arguments = fnv1a(std::as_bytes(std::span(arguments)));
  return outline;
}

CollectiveCalls collective_calls(const Graph& graph, std::span<const std::uint32_t> order) {
  CollectiveCalls calls;
  for (const std::uint32_t index : order) {
    const GraphNode& node = graph.nodes()[index];
    if (!has_effect(node)) continue;
    add_call(calls, node.op, graph.attributes(node), graph.type(graph.inputs_of(node)[0]), node.label);
  }
  return calls;
}

CollectiveCalls collective_call(const Node& node) {
  CollectiveCalls calls;
  add_call(calls, node.op(), node.attributes(), result_of(node.inputs()[0]).type, node.label());
  return calls;
}

}  // namespace tyto::core
