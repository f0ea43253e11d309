// SPDX-License-Identifier: MIT
// Traverses recorded nodes from results to leaves.
#include "tests/golden/reach.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tyto::golden {

namespace {

using core::Node;

/// Every node beneath the values, producers before consumers.
std::vector<const Node*> nodes_beneath(const std::vector<Value>& values) {
  std::vector<const Node*> stack, found;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) stack.push_back(node);
  };
  for (const Value& value : values) visit(value.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    found.push_back(node);
    for (const Value& input : node->inputs()) visit(input.node());
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  return found;
}

}  // namespace

std::set<core::OpId> operators_beneath(const std::vector<Value>& values) {
  std::set<core::OpId> operators;
  for (const Node* node : nodes_beneath(values)) operators.insert(node->op());
  return operators;
}

std::set<core::OpId> operators_between(const std::vector<Value>& values, const std::vector<Value>& inputs) {
  std::set<core::OpId> operators;
  std::unordered_set<const Node*> dependent;
  for (const Value& input : inputs) dependent.insert(input.node());
  for (const Node* node : nodes_beneath(values)) {
    for (const Value& input : node->inputs()) {
      if (!dependent.contains(input.node())) continue;
      dependent.insert(node);
      operators.insert(node->op());
      break;
    }
  }
  return operators;
}

std::set<core::OpId> barriers_beneath(const std::vector<Value>& values) {
  std::set<core::OpId> operators;
  const auto is_float = [](const Value& value) { return is_floating(value.dtype()); };
  const auto makes_float = [](const core::Result& result) { return is_floating(result.type.dtype); };
  for (const Node* node : nodes_beneath(values)) {
    const auto results = node->results();
    const auto inputs = node->inputs();
    if (core::definition(*node).gradient == nullptr && std::any_of(results.begin(), results.end(), makes_float) &&
        std::any_of(inputs.begin(), inputs.end(), is_float)) {
      operators.insert(node->op());
    }
  }
  return operators;
}

}  // namespace tyto::golden
