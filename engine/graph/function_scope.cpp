// SPDX-License-Identifier: MIT
// Collects states while a function is traced; `w = w - g`, which would train nothing, is refused.
#include "engine/graph/function_scope.hpp"

#include <algorithm>
#include <string>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/graph/state.hpp"

namespace tyto::run {

namespace {

bool depends_on(const Value& value, const Value& other) {
  std::unordered_set<const core::Node*> seen;
  std::vector<const core::Node*> stack{value.node()};
  while (!stack.empty()) {
    const core::Node* node = stack.back();
    stack.pop_back();
    if (node == other.node()) return true;
    if (node->sequence() < other.node()->sequence() || !seen.insert(node).second) continue;
    // A part whose indices are known while tracing is the same part in each call.
    const bool repeats =
        node->op() == core::OpId::set_slice && !node->symbolic() && node->inputs()[0].node() == other.node();
    for (const Value& input : node->inputs().subspan(repeats ? 1 : 0)) stack.push_back(input.node());
  }
  return false;
}

/// Whether the value is the other one in another type or shape, which it is again however often that is done.
bool is_prepared(Value value, const Value& other) {
  while (!same_value(value, other)) {
    const core::Node& node = *value.node();
    const bool prepares = node.op() == core::OpId::cast || node.op() == core::OpId::copy ||
                          node.op() == core::OpId::alias || node.op() == core::OpId::reshape ||
                          node.op() == core::OpId::broadcast_to;
    if (!prepares || node.symbolic() || node.inputs().empty()) return false;
    value = Value(node.inputs()[0]);
  }
  return true;
}

}  // namespace

FunctionScope::FunctionScope() : since_(core::next_sequence()) { observation_.emplace(*this); }

FunctionScope::~FunctionScope() {
  observation_.reset();
  for (auto& [state, saved] : touched_) state->end_stand_in(std::move(saved.before));
}

void FunctionScope::touch(const std::shared_ptr<core::State>& state) {
  if (!is_kept(*state) || !seen_.insert(state.get()).second) return;
  const Value symbol = core::version(core::Mode::lazy, state, core::Array());
  touched_.emplace_back(state, Saved{state->stand_in(symbol), symbol});
}

std::vector<StateUpdate> FunctionScope::updates() const {
  std::vector<StateUpdate> list;
  for (const auto& [state, saved] : touched_) {
    if (!same_value(state->current(), saved.symbol)) list.emplace_back(state, assigned_value(state->current()));
  }
  return list;
}

// A plain name that is assigned a value from outside, as in `total = zero`, is assigned it again in each call: later
// values must not be computed from its former value. Where both are the same, this cannot be detected.
void FunctionScope::note_new_value(detail::OwnName& name, void* tensor, const Value& before, const Value& next) {
  if (!before || before.node()->sequence() >= since_) return;
  const bool is_state = is_kept_state(before);
  if (!is_state && (before.node()->symbolic() || before.node()->op() == core::OpId::state)) return;
  const auto known = [&](const Rebinding& each) { return each.name->value == &before; };
  if (name.get() != nullptr && std::ranges::any_of(rebound_, known)) return;
  rebound_.push_back({detail::NameReference(name.made(tensor, &before)), before, !next,
                      !is_state && next && same_value(before, next)});
}

std::vector<Rebinding> FunctionScope::rebound() {
  std::erase_if(rebound_, [](const Rebinding& each) {
    return each.name->value == nullptr || same_value(*each.name->value, each.before);
  });
  std::vector<Value> given_up;
  for (Rebinding& each : rebound_) {
    given_up.push_back(each.before);
    each.exchanged = each.exchanged && *each.name->value && each.name->value->node()->sequence() < since_;
  }
  std::erase_if(rebound_, [&](const Rebinding& each) {
    const Value& now = *each.name->value;
    const bool from_outside = now && !each.exchanged && now.node()->sequence() < since_;
    if (each.begins_anew || (from_outside && !is_kept_state(each.before))) return true;
    const auto is_now = [&](const Value& other) { return same_value(now, other); };
    // A name may step over states that keep their names.
    return !now || (!each.exchanged && is_kept_state(now) && std::ranges::none_of(given_up, is_now));
  });
  return std::move(rebound_);
}

// A state always is meant to be assigned to. Another value may be kept for show, so there it counts only if the new one
// was computed from the old one, which later calls would not see, or was there before, as where std::swap exchanges
// them.
void refuse_rebinding(std::span<const Rebinding> rebound) {
  const auto state = std::ranges::find_if(rebound, [](const Rebinding& each) { return is_kept_state(each.before); });
  if (state != rebound.end()) {
    const std::string& name = state_behind(state->before, "compile")->name();
    const std::string code = name.find_first_of(" /.") == std::string::npos ? name : "w";
    core::throw_error<GraphError>(
        "compile: '", name, "' was rebound inside a compiled function, which leaves the state as it was; write ", code,
        " -= ... or assign(", code, ", ...) instead of ", state->exchanged ? "std::swap" : code + " = ...");
  }
  for (const Rebinding& each : rebound) {
    const Value& now = *each.name->value;
    if (!each.exchanged && (!depends_on(now, each.before) || is_prepared(now, each.before))) continue;
    core::throw_error<GraphError>(
        "compile: a tensor of shape ", each.before.shape(),
        " from outside was rebound inside a compiled function, whose later calls would not see its new value; make it "
        "a Tensor::variable or Tensor::persistent and write x += ... or assign(x, ...), return the value, or compute "
        "it before the first call");
  }
}

}  // namespace tyto::run
