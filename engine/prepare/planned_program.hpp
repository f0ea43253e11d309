// SPDX-License-Identifier: MIT
// A plan as plain data: what steps read and write where, regions included. The checker of contents takes it, and tests
// plant faults in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "engine/regions/run/carry_places.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

struct PlannedRegion;

struct PlannedOperand {
  std::uint32_t storage = 0;
  core::View view;  // in the storage
  std::int64_t element = 1;
};

struct PlannedStep {
  std::string name;
  std::uint32_t node = 0;
  bool copies = false;
  std::vector<PlannedOperand> inputs, outputs;
  std::uint32_t workspace = UINT32_MAX;    // its storage
  std::shared_ptr<PlannedRegion> regions;  // of a loop or a branch; mutable, for tests
};

struct PlannedProgram {
  struct Constant {
    core::Port port = core::no_port;
    core::View view;
    std::int64_t element = 1;
  };
  const core::Graph* graph = nullptr;  // the executable's
  std::vector<Storage> storages;
  std::vector<PlannedStep> steps;
  std::vector<Constant> constants;
};

/// Offsets are those from the kernel's workspace, which is the arena that all lies in.
struct PlannedRegion {
  struct Program {
    PlannedProgram program;
    std::size_t table = 0;  // of addresses
    std::size_t table_bytes = 0;
  };
  std::vector<Program> programs;  // of the arms, or of the body
  bool keyed = false;
  std::size_t key = 0;

  const core::IterationAttributes* loop = nullptr;  // null for a branch
  CarryPlaces places;
  std::vector<std::uint32_t> output_of_row;
  std::size_t number = 0, again = 0;
  bool repeated = false;  // the body is one kernel, which does many iterations in a call

  /// Where a member's value lies in an iteration, and where it is taken from after the last one.
  using Place = std::function<RegionPlace(const PlacedChain&, std::size_t member, std::int64_t iteration,
                                          std::int64_t trips, bool over)>;
  Place value, last;  // instead of what `places` says
};

/// The plan that the executable runs by, which keeps what is needed for this where plans are checked.
PlannedProgram planned_program(const Executable& executable);

}  // namespace tyto::run
