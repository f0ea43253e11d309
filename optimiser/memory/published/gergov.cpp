// SPDX-License-Identifier: MIT
// gergov: place blocks so that at most two share a byte at a time, then move the second ones out of the way.
#include <algorithm>

#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// Free room above `height` during the sections [begin, end).
struct Strip {
  Bytes height;
  Index begin;
  Index end;
};

// Heights of the provisional plan and the order in which blocks were placed, largest first where there is a choice.
struct Provisional {
  std::vector<Bytes> offsets;
  std::vector<Index> order;
};

Provisional two_to_a_byte(const Problem& p) {
  Provisional result;
  result.offsets.assign(p.size.size(), 0);
  std::vector<Strip> strips{{0, 0, p.sections}};
  std::vector<Index> waiting = arrange(p, Order::size);
  const auto meets = [&](const Strip& strip, std::size_t i) {
    return strip.begin < p.last[i] && p.first[i] < strip.end;
  };
  while (!waiting.empty() && !strips.empty()) {
    const auto lowest = std::min_element(strips.begin(), strips.end(), [](const Strip& a, const Strip& b) {
      return a.height != b.height ? a.height < b.height : a.begin < b.begin;
    });
    const Strip strip = *lowest;
    strips.erase(lowest);
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      return meets(strip, at) &&
             std::none_of(strips.begin(), strips.end(), [&](const Strip& s) { return meets(s, at); });
    });
    if (found == waiting.end()) continue;
    const Index i = *found;
    const auto at = static_cast<std::size_t>(i);
    waiting.erase(found);
    result.offsets[at] = strip.height;
    result.order.push_back(i);
    strips.push_back(
        {strip.height + p.padded[at], std::max(strip.begin, p.first[at]), std::min(strip.end, p.last[at])});
    // Left and right of the block the strip stays free, and there it may run into the block's own lifetime: the "two".
    if (strip.begin < p.first[at]) strips.push_back({strip.height, strip.begin, p.last[at]});
    if (p.last[at] < strip.end) strips.push_back({strip.height, p.first[at], strip.end});
  }
  // Strips can run out before the blocks do; the rest counts as placed at the bottom and is separated like all others.
  result.order.insert(result.order.end(), waiting.begin(), waiting.end());
  return result;
}

}  // namespace

// Separation goes through the blocks by provisional offset and gives each the lowest free place at or above its own.
// One sweep over all pairs in conflict leaves nothing to repeat, unlike moving whole colours, where one pass is not
// enough.
Placement gergov(const Problem& p, const Effort&) {
  const Provisional provisional = two_to_a_byte(p);
  std::vector<Index> order = provisional.order;
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return provisional.offsets[static_cast<std::size_t>(a)] < provisional.offsets[static_cast<std::size_t>(b)];
  });
  const Bytes base = p.fixed_top();
  Placement placement;
  placement.offsets.assign(p.size.size(), -1);
  std::vector<std::pair<Bytes, Bytes>> taken;
  for (const Index i : order) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) {
      placement.offsets[at] = p.fixed[at];
      continue;
    }
    taken.clear();
    p.for_each_neighbour(i, [&](Index j) {
      const auto other = static_cast<std::size_t>(j);
      if (placement.offsets[other] >= 0)
        taken.emplace_back(placement.offsets[other], placement.offsets[other] + p.size[other]);
    });
    std::sort(taken.begin(), taken.end());
    Bytes offset = p.align(base + provisional.offsets[at], i);
    for (const auto& [begin, end] : taken) {
      if (begin < offset + p.size[at] && offset < end) offset = p.align(end, i);
    }
    placement.offsets[at] = offset;
  }
  placement.height = height_of(p, placement.offsets);
  return placement;
}

}  // namespace tyto::memory
