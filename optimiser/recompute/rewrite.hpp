// SPDX-License-Identifier: MIT
// Rewrites a graph to recompute some values where they are needed instead of keeping them.
#pragma once

#include <vector>

#include "optimiser/schedule/problem.hpp"

namespace tyto::recompute {

/// Which values are kept and which are recomputed. Values made up to task `order[boundary]` whose storage is not kept
/// are gone for every task after it; the first that needs one makes it again, with whatever that takes, for all that
/// follow.
struct Choice {
  std::size_t boundary = 0;
  std::vector<bool> keep;  // by storage
};

/// The same results by the chosen recomputation: nodes stand in the given order, each repeated one right before the
/// first node that needs it. Random draws are repeated with their key and number, so they yield the same numbers.
core::Graph rewrite(const core::Graph& graph, const optimiser::Storages& storages, const schedule::Problem& problem,
                    const schedule::Order& order, const Choice& choice);

/// Arithmetic of one node: multiplications and additions of products and convolutions, else one for each element.
double flops(const core::Graph& graph, const core::GraphNode& node);

/// What running a node costs: its arithmetic and the bytes that it moves, in units of one arithmetic operation.
double cost(const core::Graph& graph, const core::GraphNode& node);

/// The arithmetic of all nodes that run a kernel.
double total_flops(const core::Graph& graph);

}  // namespace tyto::recompute
