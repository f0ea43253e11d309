// What changes while an executable runs: its arenas, what is bound to its inputs, the buffers of its outputs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/run/executable.hpp"

namespace tyto::run {

/// One thread's way to run an executable. Two threads use two sessions.
class Session {
 public:
  explicit Session(std::shared_ptr<const Executable> executable);

  const Executable& executable() const { return *executable_; }

  /// Gives an input its contents: the element type and shape must be the graph's. A written input must be dense, on
  /// the device and nobody else's: it is changed by the run.
  void bind(std::uint32_t input, const core::Array& array);

  /// Throws GraphError naming the input when it was given no value.
  void require(std::uint32_t input) const;

  /// Runs every step. Allocates nothing but outputs that somebody still holds from the last run.
  void run();

  /// The result of the last run. It stays as it is however often the session runs again.
  const core::Array& output(std::size_t index) const { return outputs_[index]; }
  /// The same, given away: the session keeps no share in it.
  core::Array take_output(std::size_t index) { return std::exchange(outputs_[index], {}); }
  void unbind(std::uint32_t input) { inputs_[input] = {}; }
  /// Lets go of everything bound.
  void release_inputs();

 private:
  core::Address address_of_storage(const Storage& storage) const;
  void refresh();

  std::shared_ptr<const Executable> executable_;
  core::BufferRef arena_;
  core::BufferRef host_arena_;
  std::vector<core::Array> inputs_;
  std::vector<core::Array> outputs_;
  std::vector<core::Address> addresses_;   // of operands, step after step
  std::vector<core::Address> workspaces_;  // of steps
  std::vector<std::uint32_t> moving_;      // operands whose storage is an input or an output
};

}  // namespace tyto::run
