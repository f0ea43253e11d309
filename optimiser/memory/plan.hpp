// What every finished plan goes through: from units to bytes, and the facts that a report needs.
#pragma once

#include <span>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// The plan of a placement, with offsets of blocks that take no room set to 0 (or where they are fixed).
MemoryPlan describe(std::span<const Block> blocks, const Problem& problem, const Placement& placement);

/// Fills in the naive sum, the step of highest load and the largest blocks alive then.
void describe_peak(std::span<const Block> blocks, MemoryPlan& plan);

}  // namespace tyto::memory
