// SPDX-License-Identifier: MIT
// Extracts the part of a graph that depends on changed inputs, as a graph of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::optimiser {

/// For each port whether it depends on a changed input. Values that may differ from run to run without an input always
/// do.
std::vector<bool> reached_by(const core::Graph& graph, const std::vector<bool>& changed_inputs);

/// What a partial graph is to compute, and which values it is given instead of computing them.
struct PartialRequest {
  std::vector<std::uint32_t> outputs;  // outputs of the whole, by number
  std::vector<std::uint32_t> updates;  // updates of the whole, by number
  std::vector<core::Port> kept;        // values to be kept for other runs
  std::vector<bool> available;         // by port: kept from an earlier run
  std::uint64_t draws = 0;             // that a run takes from the process-wide random sequence
};

struct PartialGraph {
  core::Graph graph;                  // outputs, then kept values; states' inputs, then values available
  std::vector<std::uint32_t> inputs;  // inputs of the whole that it has, in its order
  std::vector<core::Port> given;      // available values that are inputs, after those
};

PartialGraph partial_graph(const core::Graph& whole, const PartialRequest& request);

/// Values worth keeping: unchanged ones that changed nodes read, and that a kernel with inputs computes. Leaves out
/// those that are available.
std::vector<core::Port> crossing_values(const core::Graph& whole, const std::vector<bool>& reached,
                                        const PartialRequest& request);

}  // namespace tyto::optimiser
