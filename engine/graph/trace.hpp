// SPDX-License-Identifier: MIT
// Traces recorded values to a flat graph: what they depend on, back to contents that are known or given.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
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
  /// States are inputs of the graph; otherwise their current contents are read.
  bool bind_states = true;
  /// Nodes recorded before this one belong to the surroundings: they are evaluated and captured, not repeated each run.
  std::uint64_t since = 0;
  /// The position of the random sequence when recording began: every draw since then counts, those that nothing uses
  /// included, so that a run takes as many as plain execution would. Without it only draws in use count.
  std::optional<Generator> sequence = {};
  /// In a region, values from outside, which become its inputs after the states listed. Its inputs are no states of the
  /// program's: the operands of its node are bound to them.
  std::optional<std::span<const Value>> captured = {};
  /// Nodes that must run though nobody reads them.
  std::span<const Value> effects = {};
};

struct Traced {
  core::Graph graph;
  /// Contents of those inputs that are arguments captured on the way, by input number; empty for states.
  std::vector<core::Array> arguments;
};

Traced trace(const TraceRequest& request);

/// The captures of a region: values that the roots depend on and that are older than `since`, or listed in
/// `standing_in`. Numbers of no mode are part of the region instead.
std::vector<Value> captures_of(std::span<const Value> roots, std::uint64_t since, std::span<const Value> standing_in);

/// Throws GraphError for a value of a trace that has ended.
[[noreturn]] void refuse_leaked();

/// True while a function, or the region of a loop or branch, is being traced on this thread.
bool trace_in_progress();
/// The functions that vmap records on this thread.
extern constinit thread_local int open_vmaps;

/// Marks this thread as tracing while alive.
class TraceInProgress {
 public:
  enum class Of : std::uint8_t { function, region };

  /// `scope` is that of a compiled function being traced.
  explicit TraceInProgress(Of traced = Of::function, void* scope = nullptr);
  ~TraceInProgress();
  TraceInProgress(const TraceInProgress&) = delete;
  TraceInProgress& operator=(const TraceInProgress&) = delete;

  /// Values with an effect that were recorded so far.
  std::span<const Value> effects() const { return effects_; }

  /// The scope of the innermost trace of this thread that has one; null where none has.
  static void* innermost_scope();

 private:
  friend void note_effect(const Value& value);

  Of traced_;
  void* scope_;
  TraceInProgress* outer_;
  std::vector<Value> effects_;
};

/// Keeps a recorded value with an effect for the trace in progress, if there is one. Throws GraphError in a region.
void note_effect(const Value& value);

}  // namespace tyto::run
