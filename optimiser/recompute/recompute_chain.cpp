// SPDX-License-Identifier: MIT
// Dynamic programming over cut points and bytes kept so far.
#include "optimiser/recompute/recompute_chain.hpp"

#include <algorithm>
#include <limits>

namespace tyto::recompute {

namespace {

constexpr std::int64_t classes = 256;

/// The cheapest way to get to a cut with about so many bytes kept.
struct Point {
  double cost = std::numeric_limits<double>::infinity();
  std::int64_t bytes = 0;
  std::uint32_t from_cut = 0;
  std::uint16_t from_class = 0;
  std::uint16_t level = 0;

  bool reached() const { return cost != std::numeric_limits<double>::infinity(); }
};

}  // namespace

std::vector<Cut> cheapest_cuts(const RecomputeChain& chain, std::int64_t limit, std::int64_t rest) {
  if (limit < rest || chain.links() == 0) return {};
  const std::int64_t width = limit / classes + 1;
  const auto count = static_cast<std::size_t>(limit / width + 1);
  std::vector<std::vector<Point>> best(chain.links() + 1, std::vector<Point>(count));
  best[0][0].cost = 0;
  for (std::size_t end = 1; end <= chain.links(); ++end) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      for (std::size_t level = 0; level < chain.levels(); ++level) {
        const Segment& segment = chain.at(begin, end, level);
        for (std::size_t from = 0; from < count; ++from) {
          const Point& before = best[begin][from];
          if (!before.reached()) continue;
          const std::int64_t bytes = before.bytes + segment.stays;
          if (std::max(bytes, before.bytes + segment.turn) > limit) break;
          Point& after = best[end][static_cast<std::size_t>(bytes / width)];
          const double cost = before.cost + segment.cost;
          if (cost < after.cost || (cost == after.cost && bytes < after.bytes)) {
            after = {cost, bytes, static_cast<std::uint32_t>(begin), static_cast<std::uint16_t>(from),
                     static_cast<std::uint16_t>(level)};
          }
        }
      }
    }
  }
  const Point* last = nullptr;
  for (const Point& point : best.back()) {
    if (!point.reached() || point.bytes + rest > limit) continue;
    if (last == nullptr || point.cost < last->cost) last = &point;
  }
  std::vector<Cut> cuts;
  if (last == nullptr) return cuts;
  for (std::size_t end = chain.links(); end != 0;) {
    cuts.push_back({end, last->level});
    end = last->from_cut;
    last = &best[end][last->from_class];
  }
  std::ranges::reverse(cuts);
  return cuts;
}

}  // namespace tyto::recompute
