// SPDX-License-Identifier: MIT
// Observers of states: the innermost one on a thread is called for every state that is read or assigned to, and may
// forward the call to the one outside of it.
#pragma once

#include <memory>
#include <string>

#include "tyto/value.hpp"

namespace tyto::core {

class State;

/// While alive, `observer.touch(state)` is called for every state that is read or assigned to on this thread, and no
/// other one's.
class StateObservation {
 public:
  template <class Observer>
  explicit StateObservation(Observer& observer)
      : StateObservation(&observer, [](void* self, const std::shared_ptr<State>& state) {
          static_cast<Observer*>(self)->touch(state);
        }) {}
  ~StateObservation();
  StateObservation(const StateObservation&) = delete;
  StateObservation& operator=(const StateObservation&) = delete;

  /// Calls the observer that was the innermost before this one.
  void tell_outer(const std::shared_ptr<State>& state) const {
    if (outer_ != nullptr) outer_->touch_(outer_->observer_, state);
  }

 private:
  friend void touch(const std::shared_ptr<State>& state);
  using Touch = void (*)(void* observer, const std::shared_ptr<State>& state);
  StateObservation(void* observer, Touch touch);

  void* observer_;
  Touch touch_;
  StateObservation* outer_;
};

/// Calls the innermost observer of this thread for a state that is read or assigned to.
void touch(const std::shared_ptr<State>& state);

/// The state of a handle; null for a value that is no handle of a state.
const State* state_of(const Value& handle);
/// While alive on a thread, reads of states are not differentiated.
class UntrainedReads {
 public:
  UntrainedReads();
  ~UntrainedReads();
  UntrainedReads(const UntrainedReads&) = delete;
  UntrainedReads& operator=(const UntrainedReads&) = delete;
  static bool any();

 private:
  bool outer_;
};

/// The name of a variable by which no gradient is being taken; null for other states, and where that is not known.
const std::string* untrained_variable(State& state);

}  // namespace tyto::core
