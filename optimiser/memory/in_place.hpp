// SPDX-License-Identifier: MIT
// Blocks that two tensors share, a result computed in place of its input: planned shared and apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::memory {

/// An in-place reuse: in a step from `at` to `end` a second tensor of the same size takes over the block, while the
/// step still reads the first. Separated, the first lives to the end of that step and the second from its beginning, in
/// bytes of its own.
struct InPlaceReuse {
  std::size_t block;
  std::int64_t at;
  std::int64_t end;
};

/// A plan, its blocks, and which in-place reuses were separated for it.
struct InPlacePlan {
  MemoryPlan plan;
  std::vector<Block> blocks;             // as given, then one for the result of each separated reuse
  std::vector<std::size_t> separated;    // indices of reuses, in the order of those blocks
  std::vector<std::vector<Span>> spans;  // that blocks view where a lifetime with holes was cut
};

/// Reuse never adds to the bytes alive at a step, but makes long blocks, which may not fit between others. Where a plan
/// lies above its bound, the largest reuses are separated one by one and stay so when that makes a lower plan. `trials`
/// of them are tried, and all together, each for a share of the work. `options` and what a byte less is worth as
/// plan_worth() takes them.
InPlacePlan plan_in_place(std::span<const Block> blocks, std::span<const InPlaceReuse> reuses,
                          const PlanOptions& options, int trials = 12, std::int64_t work_per_byte = 0);

/// The blocks with these in-place reuses separated. Spans of lifetimes that are cut are appended to `spans`.
std::vector<Block> with_separated(std::span<const Block> blocks, std::span<const InPlaceReuse> reuses,
                                  std::span<const std::size_t> separated, std::vector<std::vector<Span>>& spans);

}  // namespace tyto::memory
