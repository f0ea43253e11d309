// SPDX-License-Identifier: MIT
// Records a sample in lazy mode and finds the operator among the nodes.
#include "ops/application.hpp"

#include <array>
#include <unordered_set>

#include "ops/define.hpp"
#include "ops/samples.hpp"

namespace tyto::core {

namespace {

std::optional<Application> find(const Value& root, OpId op) {
  std::vector<Node*> stack{root.node()};
  std::unordered_set<Node*> seen;
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Value& input : node->inputs()) stack.push_back(input.node());
    if (node->op() != op) continue;
    Application found;
    found.attributes = node->attributes();
    for (const Value& input : node->inputs()) found.operands.push_back({input.dtype(), input.shape(), false});
    for (const Result& result : node->results()) found.results.push_back(result.type);
    return found;
  }
  return std::nullopt;
}

Value applied(const OpDef& def, DType type) {
  if (def.sample != nullptr) return def.sample(type);
  std::array<Value, 3> operands{samples::line(type), samples::line(type), samples::line(type)};
  return emit_elementwise(def.id, std::span(operands).first(static_cast<std::size_t>(def.min_inputs)));
}

}  // namespace

bool has_sample(const OpDef& def) { return def.sample != nullptr || def.is(Traits::elementwise); }

std::optional<Application> application(const OpDef& def, DType type) {
  if (!has_sample(def)) return std::nullopt;
  // Functions that see complex numbers as their parts are not operators that take them.
  const bool truths = def.is(Traits::elementwise) && def.domain == Domain::logical;
  if (is_complex(type) && !truths && !def.is(Traits::takes_complex)) return std::nullopt;
  try {
    return find(applied(def, type), def.id);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace tyto::core
