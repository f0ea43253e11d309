// SPDX-License-Identifier: MIT
// Scope of tracing a compiled function: states that it reads or assigns to, and names from outside that it rebinds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/state_observation.hpp"
#include "core/graph/symbol.hpp"
#include "engine/graph/random.hpp"
#include "engine/graph/trace.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

/// A name that was given another value in a trace.
struct Rebinding {
  detail::NameReference name;
  Value before;
  bool exchanged = false;    // moved from and, once the trace has ended, given what was there before
  bool begins_anew = false;  // given, from outside, what it had
};

/// Made before the function is called: states read as inputs of the graph, and assignments are collected instead of
/// made. States are as they were once it ends.
class FunctionScope {
 public:
  FunctionScope();
  ~FunctionScope();
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

  /// The innermost scope of this thread, or null.
  static FunctionScope* innermost() { return static_cast<FunctionScope*>(TraceInProgress::innermost_scope()); }

  std::uint64_t since() const { return since_; }
  std::span<const Value> effects() const { return in_progress_.effects(); }
  const Generator& sequence() const { return draws_.start(); }
  std::vector<StateUpdate> updates() const;
  /// A state is read or assigned to.
  void touch(const std::shared_ptr<core::State>& state);

  /// A name gets a new value, or is moved from, where there is none. Noted if it had a value before the trace began.
  void note_new_value(detail::OwnName& name, void* tensor, const Value& before, const Value& next);
  /// Names that still exist and have other values: they are from outside, or outlive the trace.
  std::vector<Rebinding> rebound();

 private:
  struct Saved {
    Value before;  // what stood in before
    Value symbol;  // what a read in the trace yields until the state is assigned to
  };

  std::vector<std::pair<std::shared_ptr<core::State>, Saved>> touched_;
  std::unordered_set<const core::State*> seen_;  // those of touched_
  OwnGenerator draws_;
  std::uint64_t since_;
  std::vector<Rebinding> rebound_;
  TraceInProgress in_progress_{TraceInProgress::Of::function, this};
  std::optional<core::StateObservation> observation_;
};

/// Throws GraphError naming a state, or another value that was exchanged or computed from the old one, that a trace
/// left rebound: later calls would not see the value that the name refers to.
void refuse_rebinding(std::span<const Rebinding> rebound);

}  // namespace tyto::run
