// SPDX-License-Identifier: MIT
// Runs a loop and the loop of its gradient in segments: of the stacks that only the gradient reads, one segment is
// alive at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::recompute {

/// A region of a graph, or of a region in it.
struct RegionStep {
  std::uint32_t node = 0;
  std::size_t region = 0;  // of the node
};

/// A loop, and the one that goes back over rows that it stacked.
struct LoopPair {
  std::uint32_t forward = 0, backward = 0;  // nodes
  std::int64_t trips = 0;
  std::int64_t kept = 0;              // bytes of an iteration that nothing but the way back reads
  std::int64_t carried = 0;           // bytes of the carries
  std::vector<RegionStep> path = {};  // to the region that holds both, from outside in; empty: the graph itself
};

/// Those whose iterations are counted beforehand and may run twice, in the graph and in the regions of its nodes; the
/// one that keeps most first.
std::vector<LoopPair> loop_pairs(const core::Graph& graph);

/// The first count x length iterations of a loop.
struct LoopSegments {
  std::int64_t count = 0, length = 0;
};

/// As long as needs least memory for about `share` of the pair's iterations: with a segment's iterations in memory and
/// the carries that each segment began with, the square root of their number, weighed by their bytes. No segments where
/// there are too few iterations.
LoopSegments segments_of(const LoopPair& pair, double share);

/// The same results, bit for bit. The way there keeps the carries with which segments began, instead of what the way
/// back reads of each iteration; the way back runs each segment once more before it goes back over it. Iterations after
/// the segments are kept as they were.
core::Graph with_segments(const core::Graph& graph, const LoopPair& pair, LoopSegments segments);

}  // namespace tyto::recompute
