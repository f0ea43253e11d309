// SPDX-License-Identifier: MIT
// The scope of recording the body of a loop or an arm of a branch: its parameters, and the states that it reads or
// assigns to.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/region.hpp"
#include "core/graph/state_observation.hpp"
#include "core/graph/symbol.hpp"
#include "engine/graph/trace.hpp"

namespace tyto::run {

/// A state that a region uses: inside it a parameter stands for the version that is current outside.
struct RegionState {
  std::shared_ptr<core::State> state;
  Value outside;      // the version when the region was entered
  Value parameter;    // what a read inside yields until the state is assigned to
  Value last;         // the version when the region was left
  Value before = {};  // what stood in for the state around the region
  bool assigned() const { return !same_value(last, parameter); }
};

/// Made before a region's function is called. States are as they were once it ends.
class RegionScope {
 public:
  RegionScope();
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

  /// A tensor that the region is given each time it runs.
  Value parameter(const core::TensorType& type, const std::string& name);

  /// The function has returned: states get their versions back, and are listed.
  std::vector<RegionState> leave();

  std::uint64_t since() const { return since_; }
  /// A state is read or assigned to.
  void touch(const std::shared_ptr<core::State>& state);

 private:
  void restore();

  std::uint64_t since_;
  std::vector<std::shared_ptr<core::State>> parameters_;  // kept while the region is recorded
  std::vector<RegionState> states_;
  TraceInProgress in_progress_{TraceInProgress::Of::region};
  std::optional<core::StateObservation> observation_;
};

/// The parts of a region: `inputs` are parameters in order, `captured` come after them.
struct RegionParts {
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  std::span<const Value> updates;  // of the first inputs
  std::span<const Value> captured;
};
core::Region region_of(const RegionParts& parts);

}  // namespace tyto::run
