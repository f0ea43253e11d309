// SPDX-License-Identifier: MIT
// Greedy in the order of size: each in-place reuse is separated on top of those that have helped.
#include "optimiser/memory/in_place.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimiser/memory/plan.hpp"
#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

namespace {

// Plans within this part of the bound are as good as they get.
constexpr std::int64_t tight = 1000;
// Blocks smaller than this part of the height do not determine it.
constexpr std::int64_t large = 64;

// Most bytes alive at once. The bound of a plan may be higher where a search has proved it, but only with no reuse
// separated.
std::int64_t load_of(std::span<const Block> blocks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> births, deaths;
  for (const Block& block : blocks) {
    const std::int64_t bytes = (block.size + block.alignment - 1) / block.alignment * block.alignment;
    for_each_span(block, [&](std::int64_t lower, std::int64_t upper) {
      births.emplace_back(lower, bytes);
      deaths.emplace_back(upper, bytes);
    });
  }
  std::ranges::sort(births);
  std::ranges::sort(deaths);
  std::int64_t alive = 0;
  std::int64_t most = 0;
  auto death = deaths.begin();
  for (const auto& [step, bytes] : births) {
    for (; death != deaths.end() && death->first <= step; ++death) alive -= death->second;
    most = std::max(most, alive += bytes);
  }
  return most;
}

// Large reuses first, longer blocks before shorter ones. Separating one that would pass the height by itself cannot
// help.
std::vector<std::size_t> worth_separating(std::span<const Block> blocks, std::span<const InPlaceReuse> reuses,
                                          const MemoryPlan& plan, std::size_t most) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < reuses.size(); ++i) {
    const Block& block = blocks[reuses[i].block];
    if (!block.fixed_offset && block.size >= plan.height / large) candidates.push_back(i);
  }
  std::ranges::stable_sort(candidates, [&](std::size_t a, std::size_t b) {
    const Block& x = blocks[reuses[a].block];
    const Block& y = blocks[reuses[b].block];
    return x.size != y.size ? x.size > y.size : x.upper - x.lower > y.upper - y.lower;
  });
  if (candidates.size() > most) candidates.resize(most);
  std::erase_if(candidates, [&](std::size_t i) {
    std::int64_t alive = blocks[reuses[i].block].size;
    for (const Block& other : blocks) {
      for_each_span(other, [&](std::int64_t lower, std::int64_t upper) {
        if (lower <= reuses[i].at && reuses[i].at < upper) alive += other.size;
      });
    }
    return alive >= plan.height;
  });
  return candidates;
}

// Leaves the lifetime within [lower, upper).
void cut(Block& block, std::int64_t lower, std::int64_t upper, std::vector<std::vector<Span>>& spans) {
  if (block.spans.empty()) {
    block.lower = lower;
    block.upper = upper;
    return;
  }
  std::vector<Span> left;
  for (const Span& span : block.spans) {
    const Span part{std::max(span.lower, lower), std::min(span.upper, upper)};
    if (part.lower < part.upper) left.push_back(part);
  }
  block.lower = left.empty() ? lower : left.front().lower;
  block.upper = left.empty() ? lower : left.back().upper;
  block.spans = {};
  if (left.size() < 2) return;
  spans.push_back(std::move(left));
  block.spans = spans.back();
}

}  // namespace

std::vector<Block> with_separated(std::span<const Block> blocks, std::span<const InPlaceReuse> reuses,
                                  std::span<const std::size_t> separated, std::vector<std::vector<Span>>& spans) {
  std::vector<Block> pieces(blocks.begin(), blocks.end());
  for (const std::size_t reuse : separated) {
    // A block may have several in-place reuses: the piece in which this one lies is cut.
    std::size_t piece = reuses[reuse].block;
    for (std::size_t i = 0; blocks.size() + i < pieces.size(); ++i) {
      const InPlaceReuse& other = reuses[separated[i]];
      const bool behind = other.block == reuses[reuse].block && other.at < reuses[reuse].at;
      if (behind && pieces[blocks.size() + i].lower >= pieces[piece].lower) piece = blocks.size() + i;
    }
    Block second = pieces[piece];
    cut(second, reuses[reuse].at, second.upper, spans);
    cut(pieces[piece], pieces[piece].lower, reuses[reuse].end, spans);
    pieces.push_back(second);
  }
  return pieces;
}

InPlacePlan plan_in_place(std::span<const Block> blocks, std::span<const InPlaceReuse> reuses,
                          const PlanOptions& options, int trials, std::int64_t work_per_byte) {
  InPlacePlan best{
      plan_worth(blocks, options, work_per_byte), std::vector<Block>(blocks.begin(), blocks.end()), {}, {}};
  if (reuses.empty() || trials <= 0) return best;
  const std::int64_t load = load_of(blocks);
  const std::int64_t work_of_trial = work_to_sweep * static_cast<std::int64_t>(blocks.size());
  const std::int64_t small_gain = work_per_byte > 0 ? work_of_trial / work_per_byte : 0;
  const auto is_tight = [&] { return best.plan.height - load <= std::max(load / tight, small_gain); };
  if (is_tight()) return best;
  const std::vector<std::size_t> candidates =
      worth_separating(blocks, reuses, best.plan, static_cast<std::size_t>(trials));
  if (candidates.empty()) return best;
  PlanOptions each = options;
  each.work = (options.work != 0 ? options.work : worth_of_graph(blocks.size())) / 4;
  double spent = best.plan.milliseconds;
  const auto try_separated = [&](std::vector<std::size_t> separated) {
    std::vector<std::vector<Span>> spans;
    std::vector<Block> pieces = with_separated(blocks, reuses, separated, spans);
    MemoryPlan plan = plan_worth(pieces, each, work_per_byte);
    spent += plan.milliseconds;
    if (plan.height < best.plan.height)
      best = {std::move(plan), std::move(pieces), std::move(separated), std::move(spans)};
  };
  for (std::size_t i = 0; i < candidates.size() && !is_tight(); ++i) {
    std::vector<std::size_t> separated = best.separated;
    separated.push_back(candidates[i]);
    try_separated(std::move(separated));
  }
  if (!is_tight() && candidates.size() > 1) try_separated(candidates);
  if (!best.separated.empty()) best.plan.strategy += ", " + std::to_string(best.separated.size()) + " results apart";
  best.plan.milliseconds = spent;
  return best;
}

}  // namespace tyto::memory
