// SPDX-License-Identifier: MIT
// The table of strategies, and the helper that solves independent parts one by one.
#include "optimiser/memory/strategies.hpp"

#include <algorithm>
#include <array>

namespace tyto::memory {
namespace {

/// Blocks in a given order into the smallest gap between their placed neighbours.
template <Order order>
Placement greedy_by(const Problem& problem, const Effort&) {
  return place_in_order(problem, arrange(problem, order), Fit::best);
}

bool always() { return true; }

}  // namespace

std::span<const Strategy> strategies() {
  static const std::array table{
      Strategy{"bump", "no reuse: every block its own bytes", always, false, true, bump},
      Strategy{"owl", "whole blocks in time order, the largest free one grown (Owl's Algorithm 1, mended)", always,
               true, false, owl},
      Strategy{"linear_scan", "time order, smallest gap that fits", always, false, true, linear_scan},
      Strategy{"middle_out", "the heaviest section stacked, then time runs away from it on both sides", always, false,
               true, middle_out},
      Strategy{"lowest_first", "always the block that can start lowest, of the heaviest section first", always, true,
               true, lowest_first},
      Strategy{"greedy_by_size", "largest first into gaps", always, true, true, greedy_by<Order::size>},
      Strategy{"greedy_by_area", "size x lifetime first into gaps", always, true, true, greedy_by<Order::area>},
      Strategy{"greedy_by_load", "blocks of the heaviest section first, then area, into gaps", always, true, true,
               greedy_by<Order::load_area>},
      Strategy{"greedy_by_breadth", "sections by descending load, then size, into gaps", always, true, true,
               greedy_by<Order::breadth>},
      Strategy{"shared_objects", "whole objects, largest block first", always, true, true, shared_objects},
      Strategy{"mincost_flow", "whole objects, chains of least growth by assignment", always, true, false,
               mincost_flow},
      Strategy{"gergov", "two blocks to a byte at first, then separated", always, true, true, gergov},
      Strategy{"nnc", "allocation graph, size before interference (libnnc since 2019)", always, true, false, nnc},
      Strategy{"nnc2018", "allocation graph, interference before size (the published article)", always, true, false,
               nnc2018},
      Strategy{"mip", "mixed-integer programme through Cbc", mip_available, true, true, mip},
      Strategy{"exact", "branch and bound to a proven optimum", always, false, true, exact},
      Strategy{"anneal", "simulated annealing of placement orders on a skyline", always, true, true, anneal},
      Strategy{"best", "ladder: greedy orders, short searches, squeeze, annealing, full search", always, false, true,
               best},
  };
  return table;
}

Placement place_with(const Strategy& strategy, const Problem& p, const Effort& effort) {
  if (!p.has_holes() || strategy.uses_holes) return strategy.place(p, effort);
  Problem hull = hull_of(p);
  if (strategy.uses_neighbours) hull = with_neighbours(std::move(hull));
  Placement placement = strategy.place(hull, effort);
  placement.proven_bound = 0;  // proven of hulls only
  return placement;
}

Placement by_parts(const Problem& p, const Effort& effort, Placement (*place)(const Problem&, const Effort&)) {
  const std::vector<std::vector<Index>> parts = independent_parts(p);
  if (parts.size() <= 1) return place(p, effort);
  Placement whole;
  whole.offsets.assign(p.size.size(), 0);
  whole.height = 0;
  Effort rest = effort;
  for (const std::vector<Index>& part : parts) {
    const Problem sub = sub_problem(p, part);
    rest.enough = std::max(effort.enough, whole.height);
    Placement placed = place(sub, rest);
    for (std::size_t k = 0; k < part.size(); ++k) whole.offsets[static_cast<std::size_t>(part[k])] = placed.offsets[k];
    if (placed.height > whole.height) whole.remark = placed.remark;
    whole.height = std::max(whole.height, placed.height);
    whole.proven_bound = std::max(whole.proven_bound, placed.proven_bound);
  }
  return whole;
}

}  // namespace tyto::memory
