// SPDX-License-Identifier: MIT
// General fusion: element-wise operators that feed each other become one operator, so that what passes between them
// never reaches memory.
#pragma once

#include "core/graph/graph.hpp"
#include "optimiser/passes/optimise.hpp"

namespace tyto::optimiser {

/// Report of one run of the pass.
struct FuseCounts {
  std::size_t groups = 0;    ///< nodes `fused` made
  std::size_t members = 0;   ///< nodes that went into them
  std::size_t repeated = 0;  ///< cheap nodes computed in several groups rather than stored
  std::size_t updates = 0;   ///< groups that read a state and give it its new value, as those of gradient descent do
};

/// The graph with groups of element-wise nodes, and of such nodes with the reduction that alone reads them, replaced by
/// `fused` nodes. Results are the same bit by bit.
core::Graph fuse(core::Graph graph, const PassOptions& options = {}, FuseCounts* counts = nullptr);

}  // namespace tyto::optimiser
