// From recorded values to a flat graph: what the values depend on, back to what is known or given.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.hpp"
#include "engine/graph/random.hpp"

namespace tyto::run {

/// A state and the value it takes at the end of a run.
using StateUpdate = std::pair<std::shared_ptr<core::State>, Value>;

struct TraceRequest {
  std::span<const Value> outputs;
  std::span<const StateUpdate> updates;
  /// States listed first among the inputs, in this order, even if nothing reads them.
  std::span<const std::shared_ptr<core::State>> inputs;
  /// Contents found on the way become constants; otherwise arguments, so that equal structures make equal graphs.
  bool capture_constants = true;
  /// States are inputs of the graph; otherwise they are read as they are now.
  bool bind_states = true;
  /// Nodes recorded before this one belong to the surroundings: they are evaluated and captured, not repeated each run.
  std::uint64_t since = 0;
  /// Where the random sequence stood when recording began: every draw since then counts, those that nothing uses
  /// included, so that a run takes as many as plain execution would. Without it only draws in use count.
  std::optional<Generator> sequence = {};
};

struct Traced {
  core::Graph graph;
  /// Contents of those inputs that are arguments captured on the way, by input number; empty for states.
  std::vector<core::Array> arguments;
};

Traced trace(const TraceRequest& request);

/// True while a function is being traced on this thread.
bool trace_in_progress();

}  // namespace tyto::run
