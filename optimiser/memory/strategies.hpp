// SPDX-License-Identifier: MIT
// Every planning strategy: one function each, one file each, all in one table.
#pragma once

#include <span>
#include <string_view>

#include "optimiser/memory/fit.hpp"
#include "optimiser/memory/orders.hpp"
#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

struct Strategy {
  std::string_view name;
  std::string_view summary;
  bool (*available)();   // asked when it is to be used: a library that few use is loaded for it
  bool uses_neighbours;  // is to be given a problem with neighbour lists
  bool uses_holes;       // of lifetimes; otherwise it is given the hulls
  Placement (*place)(const Problem&, const Effort&);
};

std::span<const Strategy> strategies();

/// Runs `strategy` on a problem whose lifetimes may have holes.
Placement place_with(const Strategy& strategy, const Problem& problem, const Effort& effort);

Placement bump(const Problem& problem, const Effort& effort);
Placement owl(const Problem& problem, const Effort& effort);
Placement linear_scan(const Problem& problem, const Effort& effort);
Placement middle_out(const Problem& problem, const Effort& effort);
Placement lowest_first(const Problem& problem, const Effort& effort);
Placement shared_objects(const Problem& problem, const Effort& effort);
Placement mincost_flow(const Problem& problem, const Effort& effort);
Placement gergov(const Problem& problem, const Effort& effort);
Placement nnc(const Problem& problem, const Effort& effort);
Placement nnc2018(const Problem& problem, const Effort& effort);
Placement mip(const Problem& problem, const Effort& effort);
Placement exact(const Problem& problem, const Effort& effort);
Placement anneal(const Problem& problem, const Effort& effort);
Placement best(const Problem& problem, const Effort& effort);

/// Always the block that can start lowest; `order` decides among equals. Gives up, with an infinite height, as soon as
/// the height would reach `give_up_at`.
Placement lowest_first(const Problem& problem, std::span<const Index> order, Bytes give_up_at);

/// The lowest plan of the sweeps over time, which need no neighbour lists; no offsets when the problem is not
/// sweepable.
Placement best_sweep(const Problem& problem, const Effort& effort);

/// The lowest of `best` and all greedy plans, within the work that is worth it; the start of every search. The problem
/// has neighbour lists.
Placement best_greedy(const Problem& problem, const Effort& effort, Placement best);

/// Whether the library was built with the solver that `mip` needs.
bool mip_available();

/// Solves each independent part on its own, heaviest first, and puts the answers together; a part need not be lower
/// than those before it.
Placement by_parts(const Problem& problem, const Effort& effort, Placement (*place)(const Problem&, const Effort&));

}  // namespace tyto::memory
