// SPDX-License-Identifier: MIT
// MemoryOrder: a plan as the order of its blocks, from which offsets for any sizes follow.
#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "core/value/text.hpp"
#include "optimiser/memory/plan.hpp"

namespace tyto TYTO_API {
namespace {

using memory::Index;

// A block fixed somewhere without taking room is in nobody's way, and cannot be moved out of it once it grows.
bool takes_part(const Block& block) { return block.upper > block.lower && (block.size > 0 || !block.fixed_offset); }

// Who lies directly below whom at some step; within a step the chain of such pairs orders all blocks alive.
std::vector<std::pair<Index, Index>> stacked_pairs(std::span<const Block> blocks, const std::vector<Index>& sequence) {
  std::vector<Index> place(blocks.size(), 0);
  for (std::size_t k = 0; k < sequence.size(); ++k)
    place[static_cast<std::size_t>(sequence[k])] = static_cast<Index>(k);
  std::vector<std::pair<std::int64_t, Index>> starts;
  std::vector<std::pair<std::int64_t, Index>> ends;
  for (const Index i : sequence) {
    memory::for_each_span(blocks[static_cast<std::size_t>(i)], [&](std::int64_t lower, std::int64_t upper) {
      starts.emplace_back(lower, i);
      ends.emplace_back(upper, i);
    });
  }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::pair<Index, Index>> pairs;
  std::vector<Index> live;  // places, ascending
  const auto pair_up = [&](Index below, Index above) {
    pairs.emplace_back(sequence[static_cast<std::size_t>(below)], sequence[static_cast<std::size_t>(above)]);
  };
  std::size_t ended = 0;
  for (const auto& [step, i] : starts) {
    for (; ended < ends.size() && ends[ended].first <= step; ++ended) {
      const auto it = std::lower_bound(live.begin(), live.end(), place[static_cast<std::size_t>(ends[ended].second)]);
      if (it != live.begin() && it + 1 != live.end()) pair_up(*(it - 1), *(it + 1));
      live.erase(it);
    }
    const Index own = place[static_cast<std::size_t>(i)];
    const auto it = live.insert(std::lower_bound(live.begin(), live.end(), own), own);
    if (it != live.begin()) pair_up(*(it - 1), own);
    if (it + 1 != live.end()) pair_up(own, *(it + 1));
  }
  return pairs;
}

std::vector<std::pair<Index, Index>> conflicting_pairs(const Precedence& precedence,
                                                       const std::vector<Index>& sequence) {
  std::vector<std::pair<Index, Index>> pairs;
  for (std::size_t a = 0; a < sequence.size(); ++a) {
    for (std::size_t b = a + 1; b < sequence.size(); ++b) {
      if (precedence.conflict(static_cast<std::size_t>(sequence[a]), static_cast<std::size_t>(sequence[b]))) {
        pairs.emplace_back(sequence[a], sequence[b]);
      }
    }
  }
  return pairs;
}

}  // namespace

MemoryOrder::MemoryOrder(std::span<const Block> blocks, const MemoryPlan& plan, const PlanOptions& options)
    : options_(options),
      planned_(blocks.begin(), blocks.end()),
      arenas_(plan.arenas),
      arena_count_(static_cast<std::int32_t>(std::max<std::size_t>(plan.arena_heights.size(), 1))) {
  const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
  if (!faults.empty()) core::throw_error<ValueError>("MemoryOrder: the plan is not valid: ", faults.front());
  const bool any_spans = std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return !b.spans.empty(); });
  if (any_spans) spans_.resize(blocks.size());
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (any_spans) spans_[i].assign(blocks[i].spans.begin(), blocks[i].spans.end());
    planned_[i].label = {};
    planned_[i].spans = {};
  }
  std::vector<std::pair<Index, Index>> pairs;
  for (std::int32_t arena = 0; arena < arena_count_; ++arena) {
    std::vector<Index> sequence;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (takes_part(blocks[i]) && (arenas_.empty() || arenas_[i] == arena)) sequence.push_back(static_cast<Index>(i));
    }
    // Blocks that take no space yet come before what lies at their offset: they may grow with other sizes.
    std::sort(sequence.begin(), sequence.end(), [&](Index a, Index b) {
      const auto key = [&](Index i) {
        const auto at = static_cast<std::size_t>(i);
        return std::tuple(plan.offsets[at], blocks[at].size > 0, i);
      };
      return key(a) < key(b);
    });
    const auto found = options.precedence == nullptr ? stacked_pairs(blocks, sequence)
                                                     : conflicting_pairs(*options.precedence, sequence);
    pairs.insert(pairs.end(), found.begin(), found.end());
    sequence_.insert(sequence_.end(), sequence.begin(), sequence.end());
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  below_begin_.assign(blocks.size() + 1, 0);
  for (const auto& [below, above] : pairs) {
    ++below_begin_[static_cast<std::size_t>(above) + 1];
    below_.push_back(below);
  }
  std::partial_sum(below_begin_.begin(), below_begin_.end(), below_begin_.begin());
}

MemoryPlan MemoryOrder::apply(std::span<const Block> blocks) const {
  const auto start = memory::Clock::now();
  if (blocks.size() != planned_.size()) {
    core::throw_error<ValueError>("MemoryOrder::apply: ", blocks.size(), " blocks, but the order is of ",
                                  planned_.size());
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& a = blocks[i];
    const Block& b = planned_[i];
    const std::span<const Span> spans = spans_.empty() ? std::span<const Span>{} : std::span<const Span>(spans_[i]);
    if (a.lower != b.lower || a.upper != b.upper || !std::ranges::equal(a.spans, spans) || a.alignment != b.alignment ||
        a.fixed_offset != b.fixed_offset) {
      core::throw_error<ValueError>(
          "MemoryOrder::apply: block ", a.id,
          " has another lifetime, alignment or fixed offset than when it was planned; only sizes may change");
    }
    if (a.size > 0 && a.upper > a.lower && !takes_part(b)) {
      core::throw_error<ValueError>(
          "MemoryOrder::apply: block ", a.id,
          " was fixed without any size when it was planned, so that nothing made room for it");
    }
  }
  const memory::Problem problem = memory::make_problem(blocks, options_);  // validates, and knows the bound
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  plan.arenas = arenas_;
  plan.arena_heights.assign(static_cast<std::size_t>(arena_count_), 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) plan.offsets[i] = blocks[i].fixed_offset.value_or(0);
  for (const Index i : sequence_) {
    const auto at = static_cast<std::size_t>(i);
    const Block& block = blocks[at];
    std::int64_t offset = 0;
    for (std::int64_t k = below_begin_[at]; k < below_begin_[at + 1]; ++k) {
      const auto below = static_cast<std::size_t>(below_[static_cast<std::size_t>(k)]);
      offset = std::max(offset, plan.offsets[below] + blocks[below].size);
    }
    offset = memory::round_up(offset, std::lcm(block.alignment, options_.alignment));
    if (block.fixed_offset) {
      if (offset > *block.fixed_offset) {
        core::throw_error<ValueError>("MemoryOrder::apply: block ", block.id, " is fixed at ", *block.fixed_offset,
                                      ", but the blocks below it reach to ", offset);
      }
      offset = *block.fixed_offset;
    }
    plan.offsets[at] = offset;
    if (block.size == 0) continue;
    std::int64_t& height = plan.arena_heights[arenas_.empty() ? 0 : static_cast<std::size_t>(arenas_[at])];
    height = std::max(height, offset + block.size);
  }
  plan.height = std::accumulate(plan.arena_heights.begin(), plan.arena_heights.end(), std::int64_t{0});
  plan.bound = problem.bound * problem.unit;
  plan.proven_optimal = plan.height == plan.bound;
  plan.strategy = "stored order";
  memory::describe_peak(blocks, plan);
  plan.milliseconds = std::chrono::duration<double, std::milli>(memory::Clock::now() - start).count();
  return plan;
}

}  // namespace TYTO_API
