// Blocks that are glued of two, a result over what it was made of: planned with and without.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::memory {

/// At step `at` a second tensor of the same size takes over the block, while the step still reads the first. Opened,
/// the first lives to the end of that step and the second from its beginning, in bytes of its own.
struct Seam {
  std::size_t block;
  std::int64_t at;
};

/// A plan, the blocks that it is of, and which seams were opened for it.
struct SeamedPlan {
  MemoryPlan plan;
  std::vector<Block> blocks;        // as given, then one for each opened seam: what comes behind it
  std::vector<std::size_t> opened;  // numbers of seams, in the order of those blocks
};

/// Gluing never adds to the bytes alive at a step, but makes long blocks, which may not fit between others. Where a
/// plan lies above its bound, the largest seams are opened one by one and stay open when that makes a lower plan.
/// `trials` of them are tried, and all together, each for a share of the work. `options` as plan_memory takes them.
SeamedPlan plan_with_seams(std::span<const Block> blocks, std::span<const Seam> seams, const PlanOptions& options,
                           int trials = 12);

/// The blocks with these seams opened.
std::vector<Block> with_opened(std::span<const Block> blocks, std::span<const Seam> seams,
                               std::span<const std::size_t> opened);

}  // namespace tyto::memory
