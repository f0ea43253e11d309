// SPDX-License-Identifier: MIT
// Checks for sessions that run at the same time: one call a session, and no state that a run writes.
#pragma once

#include <atomic>

#include "core/graph/graph.hpp"

namespace tyto::run {

/// A call of one session: another one would write over its values.
class OneCall {
 public:
  /// Throws GraphError(busy) while another call lasts.
  OneCall(std::atomic<bool>& running, const char* busy);
  ~OneCall() { running_.store(false, std::memory_order_release); }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

 private:
  std::atomic<bool>& running_;
};

/// Throws GraphError naming a state that the graph updates: a run would write what other sessions read. `what` begins
/// the message.
void refuse_updates(const char* what, const core::Graph& graph);

/// Computes pending values of states, before several sessions read them.
void compute_pending_states(const core::Graph& graph);

}  // namespace tyto::run
