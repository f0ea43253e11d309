// SPDX-License-Identifier: MIT
// Hoists loop-invariant nodes out of loops.
#pragma once

#include <cstddef>

#include "optimiser/passes/graph_editor.hpp"

namespace tyto::optimiser {

/// Whether a node of a body that depends on captures alone is to be computed before the loop.
using WorthHoisting = bool (*)(const core::Graph& body, const core::GraphNode& node);

/// Moves such nodes, and what they need, out of all loops of the graph and of loops within their bodies. Returns how
/// many tensors loops are given instead of computing them.
std::size_t hoist(GraphEditor& editor, WorthHoisting worth);

}  // namespace tyto::optimiser
