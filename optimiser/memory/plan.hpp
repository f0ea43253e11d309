// SPDX-License-Identifier: MIT
// Steps common to all plans: choosing the effort, converting units to bytes, and the figures of reports.
#pragma once

#include <span>

#include "optimiser/memory/placement.hpp"

namespace tyto::memory {

/// The plan of a placement, with offsets of blocks that take no space set to 0 (or where they are fixed).
MemoryPlan describe(std::span<const Block> blocks, const Problem& problem, const Placement& placement);

/// Fills in the naive sum, the step of highest load and the largest blocks alive then.
void describe_peak(std::span<const Block> blocks, MemoryPlan& plan);

/// plan_memory(), but "best" works only as long as the bytes saved are worth; 0: as long as `options` allow.
MemoryPlan plan_worth(std::span<const Block> blocks, const PlanOptions& options, std::int64_t work_per_byte);

/// About what the first sweeps of "best" cost a block.
constexpr std::int64_t work_to_sweep = 7000;

/// Work for each byte by which a graph's arena may still become smaller. The sweeps mostly leave some 10 KB, for which
/// a search may take 4 ms: the time that compiling 200 nodes takes.
constexpr std::int64_t worth_of_byte = 400;

/// The work that planning the blocks of a graph to be run is worth: about 20 us a block, half a second at the most.
std::int64_t worth_of_graph(std::size_t blocks);

}  // namespace tyto::memory
