// SPDX-License-Identifier: MIT
// Placeholders, persistent tensors and variables: made, read by version, assigned.
#include <utility>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/state_observation.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/state.hpp"
#include "engine/run/arrays.hpp"

namespace tyto::run {

using core::OpId;
using core::State;

namespace {
thread_local std::vector<Value> recorded_versions;
}

void record_version(const Value& version) { recorded_versions.push_back(version); }

std::vector<Value> take_recorded_versions() { return std::exchange(recorded_versions, {}); }

Value make_state(core::Mode mode, State::Kind kind, std::string name, core::TensorType type) {
  static std::atomic<int> unnamed{0};
  if (name.empty()) {
    const char* what = kind == State::Kind::placeholder ? "placeholder "
                       : kind == State::Kind::variable  ? "variable "
                                                        : "state ";
    name = core::text(what, ++unnamed);
  }
  auto state = std::make_shared<State>(kind, std::move(name), std::move(type));
  if (kind == State::Kind::placeholder && mode == core::Mode::lazy) {
    state->set_current(core::version(mode, state, core::Array()));
  }
  auto* node = new core::Node(OpId::state, mode, std::make_shared<const core::Attributes>(core::StateAttributes{state}),
                              {}, {&state->type(), 1});
  return Value(node, 0);
}

std::shared_ptr<State> state_behind(const Value& handle, std::string_view function) {
  if (!handle || handle.node()->op() != OpId::state) {
    core::throw_error<GraphError>(function, ": the tensor is no variable, persistent tensor or placeholder");
  }
  return std::get<core::StateAttributes>(core::attributes_of(handle)).state;
}

bool is_kept_state(const Value& value) {
  const State* const state = core::state_of(value);
  return state != nullptr && state->kind() != State::Kind::placeholder;
}

void assign_state(const Value& handle, const Value& given) {
  const std::shared_ptr<State> state = state_behind(handle, "assign");
  const Value value = core::resolve(given);
  if (value.shape() != state->type().shape) {
    core::throw_error<ShapeError>(
        "assign: '", state->name(), "' has shape ", state->type().shape, ", given ", value.shape(),
        state->kind() == State::Kind::placeholder
            ? "; what was recorded from a placeholder keeps its shapes, compile() records anew "
              "for each"
            : "");
  }
  if (value.dtype() != state->type().dtype) {
    core::throw_error<TypeError>("assign: '", state->name(), "' holds ", state->type().dtype, ", given ",
                                 value.dtype());
  }
  const core::Mode mode = handle.node()->mode();
  core::touch(state);
  if (state->kind() == State::Kind::placeholder && mode == core::Mode::lazy) {
    state->set_assigned(contents(value));
  } else {
    assign_version(state, mode, value);
  }
}

void assign_version(const std::shared_ptr<State>& state, core::Mode mode, const Value& value) {
  if (value.node()->tracked()) {
    // Later reads depend on the value, so the gradient goes through the version to it.
    const Value next = core::version(state, value);
    next.node()->set_tape(value.node()->tape());
    if (value.node()->evaluated()) next.node()->result(0).array = contiguous(core::result_of(value).array);
    record_version(next);
    state->set_current(next);
  } else if (value.node()->evaluated()) {
    state->set_current(core::version(mode, state, contiguous(core::result_of(value).array)));
  } else {
    state->set_current(core::version(state, value));
  }
}

bool is_kept(const State& state) {
  return state.kind() == State::Kind::persistent || state.kind() == State::Kind::variable;
}

// An assignment wraps the new value in a version of the state.
Value assigned_value(const Value& version) {
  const core::Node& node = *version.node();
  return node.op() == OpId::read && !node.inputs().empty() ? node.inputs()[0] : version;
}

}  // namespace tyto::run
