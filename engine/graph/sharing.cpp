// SPDX-License-Identifier: MIT
// Checks graphs and evaluates states before sessions run at the same time.
#include "engine/graph/sharing.hpp"

#include "core/graph/symbol.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/state.hpp"

namespace tyto::run {

OneCall::OneCall(std::atomic<bool>& running, const char* busy) : running_(running) {
  if (running_.exchange(true, std::memory_order_acquire)) throw GraphError(busy);
}

void refuse_updates(const char* what, const core::Graph& graph) {
  for (const core::GraphUpdate& update : graph.updates()) {
    const core::GraphInput& state = graph.inputs()[update.input];
    if (state.generator) continue;
    core::throw_error<GraphError>(what, " updates '", state.name,
                                  "', which one session would write while others read it; sessions are for what leaves "
                                  "states as they are");
  }
}

void compute_pending_states(const core::Graph& graph) {
  for (const core::GraphInput& input : graph.inputs()) {
    if (input.state == nullptr || input.generator || !is_kept(*input.state)) continue;
    const core::State::Held held = input.state->held();
    if (held.version) contents(held.version);
  }
}

}  // namespace tyto::run
