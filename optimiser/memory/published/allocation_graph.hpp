// SPDX-License-Identifier: MIT
// NNC's allocation graph: which bytes pass directly from one block to the next, from the buffer's opening to its end.
#pragma once

#include <optional>
#include <vector>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// Buffers that blocks are threaded into. Every byte range's occupants form a chain of blocks, each after the one
/// before it; an edge says how many bytes pass from one block to another and where they lie.
class AllocationGraph {
 public:
  explicit AllocationGraph(const Problem& problem);

  struct Edge {
    Index from;  // `source` or a block
    Index to;    // `sink` or a block
    Index buffer;
    Bytes bytes;
    Bytes offset;
  };
  static constexpr Index source = -1;
  static constexpr Index sink = -2;

  /// Whether block b certainly starts after block a has ended, and by how many steps (at least one); 0 if not.
  Bytes steps_after(Index b, Index a) const;

  /// The edge into which blocks that follow one another in time fit with the least idle time: the first of them after
  /// its head, the last before its tail, all of its bytes for the largest. Index into edges().
  std::optional<std::size_t> tightest_edge(const std::vector<Index>& members) const;

  /// Threads `members` (in order of time) into an edge; without one into a new buffer of the size of the largest.
  void insert(const std::vector<Index>& members, std::optional<std::size_t> edge);

  /// Buffers side by side above the fixed blocks.
  Placement placement() const;

 private:
  Bytes alignment_of(const std::vector<Index>& members) const;

  const Problem& p_;
  Bytes horizon_;  // longer than any distance in time
  std::vector<Edge> edges_;
  std::vector<Bytes> buffer_sizes_;
  std::vector<Index> buffer_of_;
  std::vector<Bytes> offset_in_buffer_;
};

}  // namespace tyto::memory
