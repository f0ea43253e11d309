// SPDX-License-Identifier: MIT
// Records regions like compiled functions, from parameters to results; states read inside of them stand for themselves.
#include "engine/graph/region_scope.hpp"

#include "core/graph/builder.hpp"
#include "core/value/text.hpp"
#include "engine/graph/state.hpp"

namespace tyto::run {

RegionScope::RegionScope() : since_(core::next_sequence()) { observation_.emplace(*this); }

RegionScope::~RegionScope() { restore(); }

Value RegionScope::parameter(const core::TensorType& type, const std::string& name) {
  parameters_.push_back(std::make_shared<core::State>(core::State::Kind::parameter, name, type));
  return core::version(core::Mode::lazy, parameters_.back(), core::Array());
}

void RegionScope::touch(const std::shared_ptr<core::State>& state) {
  if (!is_kept(*state)) return;
  for (const RegionState& known : states_) {
    if (known.state == state) return;
  }
  observation_->tell_outer(state);
  const Value outside = state->current();
  if (outside && outside.node()->sequence() >= since_ && !outside.node()->symbolic()) {
    core::throw_error<GraphError>("'", state->name(),
                                  "' is made inside the body of a loop or branch; make it before and use it there");
  }
  const Value inside = parameter(state->type(), state->name());
  states_.push_back({state, outside, inside, {}, state->stand_in(inside)});
}

std::vector<RegionState> RegionScope::leave() {
  for (RegionState& each : states_) each.last = each.state->current();
  std::vector<RegionState> states = states_;
  restore();
  return states;
}

void RegionScope::restore() {
  if (!observation_) return;
  observation_.reset();
  for (RegionState& each : states_) each.state->end_stand_in(std::move(each.before));
}

core::Region region_of(const RegionParts& parts) {
  std::vector<std::shared_ptr<core::State>> states;
  for (const Value& input : parts.inputs) {
    states.push_back(std::get<core::VersionAttributes>(core::attributes_of(input)).state.lock());
  }
  std::vector<StateUpdate> updates;
  for (std::size_t i = 0; i < parts.updates.size(); ++i) updates.emplace_back(states[i], parts.updates[i]);
  // A parameter that is listed is no capture, wherever else it stands in for something.
  return core::Region(trace({.outputs = parts.outputs,
                             .updates = updates,
                             .inputs = states,
                             .capture_constants = true,
                             .bind_states = true,
                             .since = 1,
                             .captured = parts.captured})
                          .graph);
}

}  // namespace tyto::run
