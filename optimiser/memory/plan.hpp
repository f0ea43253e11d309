// SPDX-License-Identifier: MIT
// What every plan goes through: the effort it is worth, from units to bytes, and the facts that a report needs.
#pragma once

#include <span>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// The plan of a placement, with offsets of blocks that take no space set to 0 (or where they are fixed).
MemoryPlan describe(std::span<const Block> blocks, const Problem& problem, const Placement& placement);

/// Fills in the naive sum, the step of highest load and the largest blocks alive then.
void describe_peak(std::span<const Block> blocks, MemoryPlan& plan);

/// The work that planning the blocks of a graph to be run is worth: about 20 us a block, half a second at the most.
std::int64_t worth_of_graph(std::size_t blocks);

}  // namespace tyto::memory
