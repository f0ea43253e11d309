// SPDX-License-Identifier: MIT
// Lower bounds: the heaviest section, and the heaviest antichain where steps may run concurrently.
#pragma once

#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

/// In units. Counts the padding between blocks, which no plan avoids, but not the padding of the topmost one.
/// Under a precedence of at most `most_antichain_blocks` blocks: the heaviest antichain instead.
Bytes lower_bound(const Problem& problem);

/// The largest total weight of blocks that are pairwise in conflict under the problem's precedence: the weighted form
/// of Dilworth's theorem makes it total weight minus a maximal flow from earlier to later blocks.
Bytes heaviest_antichain(const Problem& problem, const std::vector<Bytes>& weight);

inline constexpr Index most_antichain_blocks = 3000;

}  // namespace tyto::memory
