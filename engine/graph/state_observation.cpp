// SPDX-License-Identifier: MIT
// Observers of states nest as the traces do that they belong to.
#include "engine/graph/state_observation.hpp"

namespace tyto::run {

namespace {
thread_local constinit StateObservation* innermost_observation = nullptr;
}

StateObservation::StateObservation(core::StateObserver observer, void* context)
    : observer_(observer), context_(context), outer_(innermost_observation) {
  core::observe_states(observer_, context_);
  innermost_observation = this;
}

StateObservation::~StateObservation() {
  innermost_observation = outer_;
  if (outer_ != nullptr) core::observe_states(outer_->observer_, outer_->context_);
  else core::observe_states(nullptr, nullptr);
}

}  // namespace tyto::run
