// SPDX-License-Identifier: MIT
// Who is told of the states that are read or assigned to on a thread: the innermost trace alone, which may pass it on.
#pragma once

#include "core/graph/builder.hpp"

namespace tyto::run {

/// While alive, `observer` is told of every state that is read or assigned to on this thread, and no other one is.
class StateObservation {
 public:
  StateObservation(core::StateObserver observer, void* context);
  ~StateObservation();
  StateObservation(const StateObservation&) = delete;
  StateObservation& operator=(const StateObservation&) = delete;

  /// Tells the observer that was the innermost before this one.
  void tell_outer(const std::shared_ptr<core::State>& state) const {
    if (outer_ != nullptr) outer_->observer_(outer_->context_, state);
  }

 private:
  core::StateObserver observer_;
  void* context_;
  StateObservation* outer_;
};

}  // namespace tyto::run
