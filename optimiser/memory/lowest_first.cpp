// SPDX-License-Identifier: MIT
// lowest_first: always places the block that can start lowest, above placed ones; among equals the order decides.
//
// What is placed next never leaves room below it into which an unplaced block could still slide, so little is wasted
// even where sizes are few and coarse. It is the way down of the exact search without its inferences.
#include <queue>
#include <tuple>

#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

Placement lowest_first(const Problem& p, std::span<const Index> order, Bytes give_up_at) {
  if (p.any_fixed) return place_in_order(p, order, Fit::first, give_up_at);
  const std::size_t n = p.size.size();
  Placement placement;
  placement.offsets.assign(n, 0);
  std::vector<Bytes>& lowest = placement.offsets;
  std::vector<char> placed(n, 0);
  // Entries go stale as neighbours are placed; they are put right when they come up.
  using Entry = std::tuple<Bytes, Index, Index>;  // lowest start when it was entered, rank, block
  std::vector<Entry> entries;
  entries.reserve(n);
  for (std::size_t rank = 0; rank < n; ++rank) entries.emplace_back(0, static_cast<Index>(rank), order[rank]);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(), std::move(entries));
  Bytes height = 0;
  while (!queue.empty()) {
    const auto [start, rank, i] = queue.top();
    queue.pop();
    const auto at = static_cast<std::size_t>(i);
    if (lowest[at] != start) {
      queue.emplace(lowest[at], rank, i);
      continue;
    }
    placed[at] = 1;
    const Bytes top = start + p.size[at];
    height = std::max(height, top);
    if (height >= give_up_at) return {};
    p.for_each_neighbour(i, [&](Index j) {
      Bytes& other = lowest[static_cast<std::size_t>(j)];
      if (placed[static_cast<std::size_t>(j)] == 0 && other < top) other = p.align(top, j);
    });
  }
  placement.height = height;
  return placement;
}

Placement lowest_first(const Problem& p, const Effort&) {
  return lowest_first(p, arrange(p, Order::load_area), std::numeric_limits<Bytes>::max());
}

}  // namespace tyto::memory
