// SPDX-License-Identifier: MIT
// greedy_by_*: blocks in a given order into the smallest gap between their placed neighbours.
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

Placement greedy(const Problem& p, Order order) { return place_in_order(p, arrange(p, order), Fit::best); }

}  // namespace tyto::memory
