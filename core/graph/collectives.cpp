// SPDX-License-Identifier: MIT
// A call in words: operator, reduction, type, shape and the label of the layer.
#include "core/graph/collectives.hpp"

#include "core/graph/op_ids.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

std::string words_of(OpId op, const Attributes& attributes, const TensorType& type,
                     const std::shared_ptr<const std::string>& label) {
  std::string words(definition(op).name);
  const auto* collective = std::get_if<CollectiveAttributes>(&attributes);
  if (collective != nullptr && op == OpId::all_reduce) words += text('(', collective->reduction, ')');
  if (collective != nullptr && op == OpId::broadcast) words += text(" from ", collective->root);
  words += text(" of ", type.dtype, type.shape);
  if (label) words += text(" in '", *label, "'");
  return words;
}

}  // namespace

CollectiveCalls collective_calls(const Graph& graph, std::span<const std::uint32_t> order) {
  CollectiveCalls calls;
  for (const std::uint32_t index : order) {
    const GraphNode& node = graph.nodes()[index];
    if (!has_effect(node)) continue;
    calls.add(words_of(node.op, graph.attributes(node), graph.type(graph.inputs_of(node)[0]), node.label));
  }
  return calls;
}

CollectiveCalls collective_call(const Node& node) {
  CollectiveCalls calls;
  calls.add(words_of(node.op(), node.attributes(), result_of(node.inputs()[0]).type, node.label()));
  return calls;
}

}  // namespace tyto::core
