// SPDX-License-Identifier: MIT
// Searches and rewires edges of the allocation graph.
#include "optimiser/memory/published/allocation_graph.hpp"

#include <algorithm>
#include <numeric>

namespace tyto::memory {

AllocationGraph::AllocationGraph(const Problem& problem)
    : p_(problem),
      horizon_(problem.sections + 1),
      buffer_of_(problem.size.size(), -1),
      offset_in_buffer_(problem.size.size(), 0) {}

Bytes AllocationGraph::alignment_of(const std::vector<Index>& members) const {
  Bytes alignment = 1;
  for (const Index member : members) alignment = std::lcm(alignment, p_.alignment[static_cast<std::size_t>(member)]);
  return alignment;
}

Bytes AllocationGraph::steps_after(Index b, Index a) const {
  if (p_.conflicts(a, b)) return 0;
  const auto early = static_cast<std::size_t>(a);
  const auto late = static_cast<std::size_t>(b);
  const Bytes distance = p_.first[late] - p_.last[early];
  return distance < 0 ? 0 : distance + 1;
}

std::optional<std::size_t> AllocationGraph::tightest_edge(const std::vector<Index>& members) const {
  Bytes need = 0;
  for (const Index member : members) need = std::max(need, p_.padded[static_cast<std::size_t>(member)]);
  const Bytes alignment = alignment_of(members);
  std::optional<std::size_t> best;
  Bytes best_cost = 0;
  for (std::size_t k = 0; k < edges_.size(); ++k) {
    const Edge& edge = edges_[k];
    if (edge.bytes < need + round_up(edge.offset, alignment) - edge.offset) continue;
    const Bytes before = edge.from == source ? horizon_ : steps_after(members.front(), edge.from);
    const Bytes after = edge.to == sink ? horizon_ : steps_after(edge.to, members.back());
    if (before == 0 || after == 0) continue;
    // Between two blocks before at the end of one, and that before at the beginning of one.
    const Bytes cost = 2 * (before + after) + (edge.from == source ? 1 : 0);
    if (!best || cost < best_cost) {
      best = k;
      best_cost = cost;
    }
  }
  return best;
}

void AllocationGraph::insert(const std::vector<Index>& members, std::optional<std::size_t> found) {
  const auto padded = [&](std::size_t m) { return p_.padded[static_cast<std::size_t>(members[m])]; };
  Bytes need = 0;
  for (std::size_t m = 0; m < members.size(); ++m) need = std::max(need, padded(m));
  if (!found) {
    edges_.push_back({source, sink, static_cast<Index>(buffer_sizes_.size()), need, 0});
    buffer_sizes_.push_back(need);
    found = edges_.size() - 1;
  }
  Edge edge = edges_[*found];
  edges_[*found] = edges_.back();
  edges_.pop_back();
  // What lies below the first aligned byte, and what lies above the members, keeps passing from head to tail.
  const Bytes start = round_up(edge.offset, alignment_of(members));
  const Bytes end = edge.offset + edge.bytes;
  if (start > edge.offset) edges_.push_back({edge.from, edge.to, edge.buffer, start - edge.offset, edge.offset});
  if (start + need < end) edges_.push_back({edge.from, edge.to, edge.buffer, end - start - need, start + need});
  edge.offset = start;
  for (const Index member : members) {
    buffer_of_[static_cast<std::size_t>(member)] = edge.buffer;
    offset_in_buffer_[static_cast<std::size_t>(member)] = edge.offset;
  }
  const auto connect = [&](Index from, Index to, Bytes bytes, Bytes skip) {
    if (bytes > 0) edges_.push_back({from, to, edge.buffer, bytes, edge.offset + skip});
  };
  // All members begin at the same byte. What a member has beyond those before it comes from the edge's head; what it
  // has goes to later members as far as they reach, and the rest to the edge's tail.
  Bytes supplied = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    connect(edge.from, members[m], padded(m) - supplied, supplied);
    supplied = std::max(supplied, padded(m));
    Bytes passed = 0;
    for (std::size_t later = m + 1; later < members.size() && passed < padded(m); ++later) {
      const Bytes reach = std::min(padded(m), padded(later));
      connect(members[m], members[later], reach - passed, passed);
      passed = std::max(passed, reach);
    }
    connect(members[m], edge.to, padded(m) - passed, passed);
  }
}

Placement AllocationGraph::placement() const {
  Bytes alignment = 1;
  for (std::size_t i = 0; i < p_.size.size(); ++i) alignment = std::lcm(alignment, p_.alignment[i]);
  std::vector<Bytes> start(buffer_sizes_.size());
  Bytes top = p_.fixed_top();
  for (std::size_t b = 0; b < start.size(); ++b) {
    start[b] = round_up(top, alignment);
    top = start[b] + buffer_sizes_[b];
  }
  Placement placement;
  placement.offsets = p_.fixed;
  for (std::size_t i = 0; i < buffer_of_.size(); ++i) {
    if (p_.fixed[i] == not_fixed) {
      placement.offsets[i] = start[static_cast<std::size_t>(buffer_of_[i])] + offset_in_buffer_[i];
    }
  }
  placement.height = height_of(p_, placement.offsets);
  return placement;
}

}  // namespace tyto::memory
