// SPDX-License-Identifier: MIT
// linear_scan: blocks in order of birth into the smallest gaps that the dead have left.
#include <algorithm>

#include "optimiser/memory/gaps.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

// Where lifetimes are intervals and nothing is fixed, the gaps at a birth are those between the blocks alive then: a
// sweep keeps them. Otherwise the same rule is applied to the placed neighbours, which are the same blocks.
Placement linear_scan(const Problem& p, const Effort&) {
  const std::vector<Index> by_birth = arrange(p, Order::birth);
  if (!p.sweepable()) return place_in_order(with_neighbours(p), by_birth, Fit::best);
  std::vector<Index> by_death(by_birth.size());
  for (std::size_t i = 0; i < by_death.size(); ++i) by_death[i] = static_cast<Index>(i);
  std::stable_sort(by_death.begin(), by_death.end(), [&](Index a, Index b) {
    return p.death[static_cast<std::size_t>(a)] < p.death[static_cast<std::size_t>(b)];
  });
  Placement placement;
  placement.offsets.assign(p.size.size(), 0);
  Gaps gaps(p.size.size(), true);
  std::size_t dead = 0;
  for (const Index i : by_birth) {
    const auto at = static_cast<std::size_t>(i);
    for (; dead < by_death.size() && p.death[static_cast<std::size_t>(by_death[dead])] <= p.birth[at]; ++dead) {
      const auto gone = static_cast<std::size_t>(by_death[dead]);
      gaps.give_back(placement.offsets[gone], p.padded[gone]);
    }
    placement.offsets[at] = gaps.take_smallest(p.padded[at]);
  }
  placement.height = height_of(p, placement.offsets);
  return placement;
}

}  // namespace tyto::memory
