// SPDX-License-Identifier: MIT
// First fit and best fit by a sweep over the placed neighbours' intervals.
#include "optimiser/memory/fit.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tyto::memory {
namespace {

struct Interval {
  Bytes begin;
  Bytes end;
};

// Few intervals at a time and often nearly sorted: insertion beats a general sort there.
void sort_by_begin(std::vector<Interval>& intervals) {
  if (intervals.size() > 48) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    return;
  }
  for (std::size_t k = 1; k < intervals.size(); ++k) {
    const Interval moving = intervals[k];
    std::size_t at = k;
    for (; at > 0 && intervals[at - 1].begin > moving.begin; --at) intervals[at] = intervals[at - 1];
    intervals[at] = moving;
  }
}

Bytes offset_among(const Problem& p, Index block, const std::vector<Interval>& taken, Fit fit) {
  const Bytes size = p.size[static_cast<std::size_t>(block)];
  Bytes best = -1;
  Bytes best_gap = std::numeric_limits<Bytes>::max();
  Bytes free_from = 0;
  for (const Interval& interval : taken) {
    if (interval.begin - free_from >= size) {
      // Gaps are measured from where this block could start, by its own alignment.
      const Bytes start = p.align(free_from, block);
      const Bytes gap = interval.begin - start;
      if (gap >= size) {
        if (fit == Fit::first) return start;
        if (gap < best_gap) {
          best_gap = gap;
          best = start;
        }
      }
    }
    free_from = std::max(free_from, interval.end);
  }
  return best >= 0 ? best : p.align(free_from, block);
}

}  // namespace

Bytes height_of(const Problem& p, const std::vector<Bytes>& offsets) {
  Bytes height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) height = std::max(height, offsets[i] + p.size[i]);
  return height;
}

Placement place_in_order(const Problem& p, std::span<const Index> order, Fit fit, Bytes give_up_at) {
  Placement placement;
  placement.offsets.assign(p.size.size(), -1);
  std::vector<Bytes>& offsets = placement.offsets;
  Bytes height = 0;
  if (p.any_fixed) {
    for (std::size_t i = 0; i < p.size.size(); ++i) {
      if (p.fixed[i] == not_fixed) continue;
      offsets[i] = p.fixed[i];
      height = std::max(height, p.fixed[i] + p.size[i]);
    }
  }
  std::vector<Interval> taken;
  for (const Index i : order) {
    const auto at = static_cast<std::size_t>(i);
    if (offsets[at] >= 0) continue;
    taken.clear();
    p.for_each_neighbour(i, [&](Index j) {
      const Bytes offset = offsets[static_cast<std::size_t>(j)];
      if (offset >= 0) taken.push_back({offset, offset + p.size[static_cast<std::size_t>(j)]});
    });
    sort_by_begin(taken);
    offsets[at] = offset_among(p, i, taken, fit);
    height = std::max(height, offsets[at] + p.size[at]);
    if (height >= give_up_at) return {};
  }
  placement.height = height;
  return placement;
}

std::vector<Index> order_of_offsets(const Problem& p, const std::vector<Bytes>& offsets) {
  std::vector<Index> order(p.size.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return offsets[static_cast<std::size_t>(a)] < offsets[static_cast<std::size_t>(b)];
  });
  return order;
}

Placement squeeze(const Problem& p, Placement placement) {
  for (;;) {
    const Bytes before = placement.height;
    Placement pushed = place_in_order(p, order_of_offsets(p, placement.offsets), Fit::first);
    if (pushed.height <= placement.height) placement = std::move(pushed);
    // Turned upside down: what hung from the top rests on the ground now, which is another way to be pushed together.
    std::vector<Bytes> mirrored(placement.offsets.size());
    for (std::size_t i = 0; i < mirrored.size(); ++i) {
      mirrored[i] = placement.height - placement.offsets[i] - p.size[i];
    }
    Placement flipped = place_in_order(p, order_of_offsets(p, mirrored), Fit::first);
    if (flipped.height < placement.height) placement = std::move(flipped);
    if (placement.height >= before) return placement;
  }
}

}  // namespace tyto::memory
