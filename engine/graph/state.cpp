// SPDX-License-Identifier: MIT
// Creates placeholders, persistent tensors and variables, reads their versions, and assigns to them.
#include <utility>

#include "core/device/device.hpp"
#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/state_observation.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/state.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/packed_weights.hpp"

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

bool is_a_buffer_of_its_own(const core::Array& array) {
  return core::is_dense(array.view) && array.view.offset == 0 && !array.buffer->read_only() &&
         array.buffer->bytes() == byte_count(array.dtype, array.view.shape);
}

namespace {
// Releasing smaller constants saves little memory. Packing gives back the elements of two types, on the CPU.
bool may_be_packed(const core::Array& array) {
  constexpr std::size_t least_bytes = 4096;
  return array && (array.dtype == DType::f32 || array.dtype == DType::f64) && array.buffer->device() == &cpu_device() &&
         array.buffer->bytes() >= least_bytes && is_a_buffer_of_its_own(array);
}
}  // namespace

Value make_constant(core::Mode mode, const core::Array& array) {
  return mode == core::Mode::lazy && may_be_packed(array) ? core::held_constant(array) : core::constant(mode, array);
}

core::Port add_constant(core::GraphBuilder& builder, const core::Array& array) {
  if (!may_be_packed(array) || &current_device() != &cpu_device()) return builder.add_constant(array);
  const core::TensorType type{array.dtype, array.view.shape, false};
  const Value held = core::held_constant(array);
  return builder.add(OpId::constant, held.node()->shared_attributes(), {}, {&type, 1}, nullptr);
}

core::Array constant_to_copy(const core::Attributes& attributes) {
  const std::shared_ptr<State> holder = core::holder_of(attributes);
  const core::Array lent = holder ? PackedWeights::unpacked_contents(*holder) : core::Array();
  return lent ? lent : core::contents_of_constant(attributes);
}

std::shared_ptr<State> state_behind(const Value& handle, std::string_view function, std::string_view cure) {
  if (!handle || handle.node()->op() != OpId::state) {
    core::throw_error<GraphError>(function, ": the tensor is no variable, persistent tensor or placeholder", cure);
  }
  return std::get<core::StateAttributes>(core::attributes_of(handle)).state;
}

bool is_kept_state(const Value& value) {
  const State* const state = core::state_of(value);
  return state != nullptr && state->kind() != State::Kind::placeholder;
}

void assign_state(const Value& handle, const Value& given) {
  const std::shared_ptr<State> state =
      state_behind(handle, "assign", "; Tensor::variable and Tensor::persistent make one");
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
    if (value.node()->evaluated()) next.node()->result(0).array = contiguous(contents(value));
    record_version(next);
    state->set_current(next);
  } else if (value.node()->evaluated()) {
    state->set_current(core::version(mode, state, contiguous(contents(value))));
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
