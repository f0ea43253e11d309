// SPDX-License-Identifier: MIT
// Loops and branches in programs that are compared with explicit graphs.
#pragma once

#include "engine/graph/trace.hpp"
#include "tyto/tensor.hpp"

namespace tyto::fuzz {

/// Explicit graphs number the draws that they need. A region takes a draw of eager mode's sequence even if it draws
/// nothing, so that is given back; bodies draw by keys of their own.
class SequenceAsBefore {
 public:
  ~SequenceAsBefore() {
    if (!run::trace_in_progress()) random_state(state_);
  }
  SequenceAsBefore() = default;
  SequenceAsBefore(const SequenceAsBefore&) = delete;
  SequenceAsBefore& operator=(const SequenceAsBefore&) = delete;

 private:
  RandomState state_ = random_state();
};

}  // namespace tyto::fuzz
