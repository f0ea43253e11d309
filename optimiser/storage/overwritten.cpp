// SPDX-License-Identifier: MIT
// A persistent segment tree: a change copies the nodes from the root to the range and shares the others.
#include "optimiser/storage/overwritten.hpp"

#include <algorithm>

namespace tyto::optimiser {

using core::ElementRange;

namespace {

bool disjoint(ElementRange a, ElementRange b) { return a.first >= a.past || a.past <= b.first || b.past <= a.first; }
bool covers(ElementRange range, ElementRange all) { return range.first <= all.first && all.past <= range.past; }
ElementRange low_half(ElementRange all) { return {all.first, all.first + (all.past - all.first) / 2}; }
ElementRange high_half(ElementRange all) { return {low_half(all).past, all.past}; }

}  // namespace

Overwritten::Map Overwritten::with(Map map, ElementRange all, ElementRange range, std::uint32_t position) {
  if (disjoint(range, all)) return map;
  if (covers(range, all)) {
    const auto own = static_cast<Map>(nodes_.size());
    nodes_.push_back({position, own, own});
    return own;
  }
  const Node before = nodes_[map];
  const Map low = with(before.low, low_half(all), range, position);
  const Map high = with(before.high, high_half(all), range, position);
  nodes_.push_back({position, low, high});
  return static_cast<Map>(nodes_.size() - 1);
}

std::uint32_t Overwritten::first_in(Map map, ElementRange all, ElementRange range) const {
  if (map == nothing || disjoint(range, all)) return never;
  const Node& node = nodes_[map];
  if (covers(range, all) || node.low == map) return node.position;
  return std::min(first_in(node.low, low_half(all), range), first_in(node.high, high_half(all), range));
}

}  // namespace tyto::optimiser
