// SPDX-License-Identifier: MIT
// Fills one arena with whatever fits below the limit, largest first, and leaves the rest to the next.
#include "optimiser/memory/arenas.hpp"
#include "core/value/text.hpp"

#include <algorithm>
#include <string>

#include "optimiser/memory/bound.hpp"

namespace tyto::memory {
namespace {

// First fit below the limit; the blocks that do not fit any more are left out. Placed blocks come first in the result.
std::vector<Index> those_that_fit(const Problem& p, Bytes limit, std::vector<Bytes>& offsets) {
  std::vector<Index> chosen;
  offsets.assign(p.size.size(), -1);
  const auto place = [&](Index i, Bytes offset) {
    offsets[static_cast<std::size_t>(i)] = offset;
    chosen.push_back(i);
  };
  for (Index i = 0; i < p.count(); ++i) {
    if (p.fixed[static_cast<std::size_t>(i)] != not_fixed) place(i, p.fixed[static_cast<std::size_t>(i)]);
  }
  std::vector<std::pair<Bytes, Bytes>> taken;
  for (const Index i : arrange(p, Order::size)) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) continue;
    taken.clear();
    p.for_each_neighbour(i, [&](Index j) {
      const auto other = static_cast<std::size_t>(j);
      if (offsets[other] >= 0) taken.emplace_back(offsets[other], offsets[other] + p.size[other]);
    });
    std::sort(taken.begin(), taken.end());
    Bytes offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin < offset + p.size[at] && offset < end) offset = p.align(end, i);
    }
    if (offset + p.size[at] <= limit) place(i, offset);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Each arena starts aligned, so that several need less padding than one, and what a search proved of one arena does not
// hold for several: only the sizes themselves count.
Bytes bound_over_arenas(Problem p) {
  p.padded = p.size;
  p.slack = 0;
  p.load.assign(p.load.size() + 1, 0);
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    p.for_each_run(i, [&](Index first, Index last) {
      p.load[static_cast<std::size_t>(first)] += p.size[i];
      p.load[static_cast<std::size_t>(last)] -= p.size[i];
    });
    p.fixed[i] = not_fixed;
  }
  for (std::size_t k = 1; k < p.load.size(); ++k) p.load[k] += p.load[k - 1];
  p.load.pop_back();
  return lower_bound(p);
}

}  // namespace

void split_into_arenas(std::span<const Block> blocks, const Problem& problem, const Effort& effort,
                       const Strategy& strategy, Bytes limit_in_bytes, MemoryPlan& plan) {
  for (std::size_t i = 0; i < problem.size.size(); ++i) {
    const Block& block = blocks[static_cast<std::size_t>(problem.input[i])];
    const Bytes end = block.size + block.fixed_offset.value_or(0);
    if (end > limit_in_bytes) {
      core::throw_error<ValueError>("plan_memory: block ", block.id, " reaches to byte ", end,
                                    ", but no arena may have more than ", limit_in_bytes);
    }
  }
  if (plan.height <= limit_in_bytes) return;
  const Bytes limit = limit_in_bytes / problem.unit;
  plan.arenas.assign(blocks.size(), 0);
  plan.arena_heights.clear();
  plan.height = 0;
  std::vector<Index> remaining(problem.size.size());
  for (std::size_t i = 0; i < remaining.size(); ++i) remaining[i] = static_cast<Index>(i);
  while (!remaining.empty()) {
    const Problem rest = sub_problem(problem, remaining);
    std::vector<Bytes> offsets;
    const std::vector<Index> chosen = those_that_fit(rest, limit, offsets);
    const Problem part = sub_problem(rest, chosen);
    Placement placement;
    for (const Index i : chosen) placement.offsets.push_back(offsets[static_cast<std::size_t>(i)]);
    placement.height = height_of(part, placement.offsets);
    // The same blocks, planned with the strategy that was asked for, may well be lower.
    Effort own = effort;
    own.enough = part.bound;
    Placement planned = place_with(strategy, part, own);
    if (planned.height < placement.height) placement = std::move(planned);
    const auto arena = static_cast<std::int32_t>(plan.arena_heights.size());
    for (std::size_t k = 0; k < placement.offsets.size(); ++k) {
      const auto input = static_cast<std::size_t>(part.input[k]);
      plan.offsets[input] = placement.offsets[k] * problem.unit;
      plan.arenas[input] = arena;
    }
    plan.arena_heights.push_back(placement.height * problem.unit);
    plan.height += plan.arena_heights.back();
    std::vector<Index> left;
    std::size_t next = 0;
    for (std::size_t k = 0; k < remaining.size(); ++k) {
      if (next < chosen.size() && chosen[next] == static_cast<Index>(k)) {
        ++next;
      } else {
        left.push_back(remaining[k]);
      }
    }
    remaining = std::move(left);
  }
  plan.bound = bound_over_arenas(problem) * problem.unit;
  plan.proven_optimal = plan.height == plan.bound;
}

}  // namespace tyto::memory
