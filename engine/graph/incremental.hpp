// SPDX-License-Identifier: MIT
// Runs of an explicit graph that recompute only what depends on inputs changed since the run before.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/graph/binding.hpp"

namespace tyto::run {

/// An executable of the whole graph and, for each set of inputs that changed alone before, one of the part that they
/// reach. Values that cross from the rest into such a part are kept in memory of their own, and every run that reaches
/// them computes them anew: after a run all outputs and kept values are those of the inputs as they are.
class IncrementalSession {
 public:
  explicit IncrementalSession(std::shared_ptr<const Executable> whole);
  /// Allows other threads to read the same states at the same time.
  void read_beside_others();

  /// Gives a placeholder its contents for the runs to come.
  void set(std::uint32_t input, const core::Array& array);
  void run();
  /// The whole graph, whatever changed, with the time of each step; see Session::time_steps.
  void run_timed(std::span<double> milliseconds);

  const core::Array& output(std::size_t index) const { return outputs_[index]; }
  /// The session of the whole graph.
  const Session& whole() const { return whole_.session(); }
  std::size_t last_run_steps() const { return last_run_steps_; }
  std::size_t kept_bytes() const;
  std::size_t unplanned_allocations() const;

 private:
  static constexpr std::size_t part_limit = 8;
  using Changes = std::vector<bool>;

  /// The part of the graph that brings everything up to date after a set of changes.
  struct Part {
    std::vector<std::uint32_t> inputs;
    std::vector<core::Port> given;
    std::vector<std::uint32_t> outputs;
    std::vector<core::Port> kept;
    std::vector<bool> written;              // by input of the whole: a state that it updates
    std::size_t kept_values = 0;            // of all parts when this one was made
    bool whole = false;                     // nothing is spared: the whole graph runs
    std::unique_ptr<BoundSession> session;  // null otherwise: there is nothing to do
  };

  void note_changes();
  void run_whole();
  void run_part(Part& part);
  Part& part_for(const Changes& changed);
  Changes smallest_cover(const Changes& changed) const;
  Part make_part(const Changes& changed);
  void fill(const std::vector<core::Port>& missing);
  std::unique_ptr<BoundSession> session_for(core::Graph graph) const;
  void run_session(BoundSession& session, const Part& part);
  const core::Array& kept(core::Port port) const;
  void note_states(const std::vector<bool>& written);

  std::shared_ptr<const Executable> executable_;
  BoundSession whole_;
  std::vector<const core::State*> states_;  // by input, whose contents it is, packed or not; null for others
  std::vector<core::Array> given_;          // placeholders' contents, by input
  Changes changed_;                         // placeholders set, and states updated, since the last run
  Changes changes_;                         // these, and states that others changed: what this run is to cover
  Changes written_;                         // states that the whole graph updates
  std::vector<std::uint64_t> revisions_;    // of states, after the last run
  std::vector<core::Array> outputs_;
  std::map<core::Port, core::Array> kept_;
  std::map<core::Port, std::size_t> output_of_;
  std::map<Changes, Part> parts_;
  bool beside_others_ = false;
  bool up_to_date_ = false;  // false before the first run and after one that failed
  std::size_t last_run_steps_ = 0;
};

}  // namespace tyto::run
