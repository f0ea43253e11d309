// SPDX-License-Identifier: MIT
// A call in words: operator, reduction, type, shape and the label of the layer.
#include "core/graph/collectives.hpp"

#include "core/graph/op_ids.hpp"
#include "core/graph/symbol.hpp"
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

}  // namespace

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
