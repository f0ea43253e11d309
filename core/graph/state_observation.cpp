// SPDX-License-Identifier: MIT
// The stack of state observers of a thread.
#include "core/graph/state_observation.hpp"

#include <utility>
#include <variant>

#include "core/graph/op_ids.hpp"
#include "core/graph/symbol.hpp"

namespace tyto::core {

namespace {
thread_local constinit StateObservation* innermost_observation = nullptr;
thread_local constinit bool untrained_reads = false;
}  // namespace

StateObservation::StateObservation(void* observer, Touch touch)
    : observer_(observer), touch_(touch), outer_(innermost_observation) {
  innermost_observation = this;
}

StateObservation::~StateObservation() { innermost_observation = outer_; }

void touch(const std::shared_ptr<State>& state) {
  const StateObservation* const innermost = innermost_observation;
  if (innermost != nullptr) innermost->touch_(innermost->observer_, state);
}

const State* state_of(const Value& handle) {
  if (!handle || handle.node()->op() != OpId::state) return nullptr;  // a constant may be held by a state
  return std::get<StateAttributes>(attributes_of(handle)).state.get();
}

UntrainedReads::UntrainedReads() : outer_(std::exchange(untrained_reads, true)) {}
UntrainedReads::~UntrainedReads() { untrained_reads = outer_; }
bool UntrainedReads::any() { return untrained_reads; }

const std::string* untrained_variable(State& state) {
  if (state.kind() != State::Kind::variable) return nullptr;
  const Value current = state.current();
  // The replacement of a state that was read before, in a function or region, has no gradient.
  return current && current.node()->tape() == 0 && !current.node()->symbolic() ? &state.name() : nullptr;
}

}  // namespace tyto::core
