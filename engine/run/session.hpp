// SPDX-License-Identifier: MIT
// Session: what changes while an executable runs: its arenas, what is bound to its inputs, the buffers of its outputs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/executable.hpp"

namespace tyto::run {

/// One thread's way to run an executable. Two threads use two sessions.
class Session {
 public:
  explicit Session(std::shared_ptr<const Executable> executable) : Session(std::move(executable), nullptr) {}
  /// Works in an arena given to it, shared with sessions that run at other times; an own one when it is too small.
  Session(std::shared_ptr<const Executable> executable, core::BufferRef arena);

  const Executable& executable() const { return *executable_; }
  const std::shared_ptr<const Executable>& shared_executable() const { return executable_; }

  /// Gives an input its contents: the element type and shape must be the graph's. A written input must be dense, on
  /// the device and nobody else's: it is changed by the run.
  void bind(std::uint32_t input, const core::Array& array);

  /// Throws GraphError naming the input when it was given no value.
  void require(std::uint32_t input) const;

  /// Runs every step. Allocates nothing but outputs that somebody still holds from the last run. With TYTO_VERIFY set
  /// in the environment, a reference session runs too and results are compared (verification.cpp).
  void run();
  /// Makes every run wait after each step and record here the time it took, in milliseconds and by the device's
  /// own clock where it has one: one number a step. An empty span ends that.
  void time_steps(std::span<double> milliseconds) { milliseconds_ = milliseconds; }

  const core::BufferRef& arena() const { return arena_; }

  /// Buffers that kernels asked for while they ran, which a plan should have foreseen, in all runs so far.
  std::size_t unplanned_allocations() const { return unplanned_; }
  /// The steps that asked, each with how often: "label/operator". Recorded from the run after the first that had any.
  const std::map<std::string, std::size_t>& unplanned_by_node() const { return unplanned_by_node_; }

  /// The result of the last run. It stays as it is however often the session runs again.
  const core::Array& output(std::size_t index) const { return outputs_[index]; }
  /// Moves the result of the last run out of the session.
  core::Array take_output(std::size_t index) { return std::exchange(outputs_[index], {}); }
  /// Gives an output its buffer for the next run; it must be dense, of the output's type and nobody else's.
  void give_output(std::size_t index, core::Array array) {
    outputs_[index] = std::move(array);
    moved_[inputs_.size() + index] = 1;
  }
  const core::Array& input(std::uint32_t input) const { return inputs_[input]; }
  void unbind(std::uint32_t input) { hold(input, {}); }
  /// Releases everything bound.
  void release_inputs();

 private:
  core::Address address_of_storage(const Storage& storage) const;
  void hold(std::uint32_t input, core::Array array) {
    inputs_[input] = std::move(array);
    moved_[input] = 1;
  }
  void refresh();
  void refresh_operands(std::size_t slot);
  void run_steps();
  void run_beside_reference();
  core::LaunchAddresses launch_addresses(std::size_t index) const;
  void launch(std::size_t index, bool with_next = false) const;
  void launch_range(std::size_t first, std::size_t end) const;
  /// `now`: the step that runs.
  void launch_lane(std::span<const std::uint32_t> steps, std::uint32_t& now) const;
  std::size_t launch_lanes(const ParallelSection& section) const;
  std::size_t launch_steps() const;
  void run_watched();
  void run_timed();
  void poison(const core::BufferRef& buffer, std::size_t offset, std::size_t bytes) const;
  void poison_dead(std::size_t step) const;
  std::size_t allocations() const;

  std::shared_ptr<const Executable> executable_;
  std::span<double> milliseconds_;  // where each run notes the time of its steps
  core::BufferRef arena_;
  core::BufferRef host_arena_;
  std::vector<core::Array> inputs_;
  std::vector<core::Array> outputs_;
  std::vector<core::Address> addresses_;           // of operands, step after step
  std::vector<core::Address> workspaces_;          // of steps
  std::vector<std::uint8_t> moved_;                // inputs, then outputs, that lie elsewhere than in the last run
  std::vector<std::uint32_t> operands_of_slots_;   // the operands in each input, then in each output
  std::vector<std::uint32_t> first_operands_;      // of each in operands_of_slots_, and an end
  std::vector<std::vector<std::uint32_t>> dying_;  // planned storages that each step is the last to use; poison only
  std::unique_ptr<Session> reference_;             // where runs are verified: the same graph without reuse of memory
  std::size_t unplanned_ = 0;
  std::map<std::string, std::size_t> unplanned_by_node_;
};

}  // namespace tyto::run
