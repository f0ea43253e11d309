// SPDX-License-Identifier: MIT
// Lays objects out side by side in one arena, those with the strictest alignment first.
#include "optimiser/memory/published/objects.hpp"

#include <algorithm>
#include <numeric>

namespace tyto::memory {

Placement Objects::side_by_side() const {
  const Problem& p = problem_;
  std::vector<Bytes> alignment(sizes_.size(), 1);
  for (std::size_t i = 0; i < object_of_.size(); ++i) {
    if (object_of_[i] == none) continue;
    Bytes& wanted = alignment[static_cast<std::size_t>(object_of_[i])];
    wanted = std::lcm(wanted, p.alignment[i]);
  }
  std::vector<Index> order(sizes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return alignment[static_cast<std::size_t>(a)] > alignment[static_cast<std::size_t>(b)];
  });
  std::vector<Bytes> start(sizes_.size());
  Bytes top = p.fixed_top();
  for (const Index object : order) {
    const auto at = static_cast<std::size_t>(object);
    start[at] = round_up(top, alignment[at]);
    top = start[at] + sizes_[at];
  }
  Placement placement;
  placement.offsets = p.fixed;
  for (std::size_t i = 0; i < object_of_.size(); ++i) {
    if (p.fixed[i] == not_fixed) placement.offsets[i] = start[static_cast<std::size_t>(object_of_[i])];
  }
  placement.height = height_of(p, placement.offsets);
  return placement;
}

}  // namespace tyto::memory
