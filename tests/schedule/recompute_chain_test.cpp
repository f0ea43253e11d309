// SPDX-License-Identifier: MIT
// Cutting chains for recomputation, against exhaustive search.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "optimiser/recompute/recompute_chain.hpp"

using namespace tyto::recompute;

namespace {

// A chain of links that hold some bytes each, of which some go on to the next link.
struct Links {
  std::vector<std::int64_t> holds;
  std::vector<std::int64_t> goes_on;
  std::vector<std::int64_t> around;  // bytes alive beside the chain when the link is read again
  std::vector<double> cost;
};

Links random_links(std::size_t count, std::mt19937& random) {
  const auto draw = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  Links links;
  for (std::size_t i = 0; i < count; ++i) {
    links.goes_on.push_back(draw(6));
    links.holds.push_back(links.goes_on.back() + draw(9));
    links.around.push_back(draw(5));
    links.cost.push_back(static_cast<double>(draw(20)));
  }
  return links;
}

// Level 0 keeps what goes on, level 1 everything.
Segment form(const Links& links, std::size_t begin, std::size_t end, std::size_t level) {
  std::int64_t holds = 0;
  std::int64_t around = 0;
  double cost = 0;
  for (std::size_t i = begin; i < end; ++i) {
    holds += links.holds[i];
    around = std::max(around, links.around[i]);
    cost += links.cost[i];
  }
  return {level == 0 ? links.goes_on[end - 1] : holds, holds + around, level == 0 ? cost : 0};
}

// Cost of a set of segments; infinite when it does not fit. `cut` holds a bit for each link but the last, `kept` for
// each link whether the segment that begins there is kept whole.
double cost_of(const Links& links, std::size_t cut, std::size_t kept, std::int64_t limit, std::int64_t rest) {
  std::int64_t bytes = 0;
  double cost = 0;
  for (std::size_t begin = 0; begin < links.holds.size();) {
    std::size_t end = begin + 1;
    while (end < links.holds.size() && (cut >> (end - 1) & 1) == 0) ++end;
    const Segment segment = form(links, begin, end, kept >> begin & 1);
    if (bytes + segment.turn > limit) return std::numeric_limits<double>::infinity();
    bytes += segment.stays;
    cost += segment.cost;
    begin = end;
  }
  return bytes + rest <= limit ? cost : std::numeric_limits<double>::infinity();
}

double cost_of(const Links& links, const std::vector<Cut>& cuts, std::int64_t limit, std::int64_t rest) {
  std::size_t cut = 0;
  std::size_t kept = 0;
  std::size_t begin = 0;
  for (const Cut& each : cuts) {
    REQUIRE(each.end > begin);
    if (each.end < links.holds.size()) cut |= std::size_t{1} << (each.end - 1);
    kept |= each.level << begin;
    begin = each.end;
  }
  REQUIRE(begin == links.holds.size());
  return cost_of(links, cut, kept, limit, rest);
}

}  // namespace

TEST_CASE("the cheapest cuts of a chain are the best of all sets of cut points") {
  std::mt19937 random(5);
  int fit = 0;
  int repeat = 0;
  for (int round = 0; round < 400; ++round) {
    // Every cut point of chains of up to twelve links; what is kept whole besides of up to seven.
    const bool levels = round % 2 == 0;
    const std::size_t count = 1 + random() % (levels ? 7 : 12);
    const Links links = random_links(count, random);
    const std::int64_t limit = 5 + static_cast<std::int64_t>(random() % (8 * count));
    const std::int64_t rest = static_cast<std::int64_t>(random() % 5);
    RecomputeChain chain(count, levels ? 2 : 1);
    for (std::size_t begin = 0; begin < count; ++begin) {
      for (std::size_t end = begin + 1; end <= count; ++end) {
        for (std::size_t level = 0; level < chain.levels(); ++level) {
          chain.at(begin, end, level) = form(links, begin, end, level);
        }
      }
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t cut = 0; cut < std::size_t{1} << (count - 1); ++cut) {
      for (std::size_t kept = 0; kept < (levels ? std::size_t{1} << count : 1); ++kept) {
        least = std::min(least, cost_of(links, cut, kept, limit, rest));
      }
    }
    const std::vector<Cut> cuts = cheapest_cuts(chain, limit, rest);
    CHECK(cuts.empty() == (least == std::numeric_limits<double>::infinity()));
    if (cuts.empty()) continue;
    CHECK(cost_of(links, cuts, limit, rest) == least);
    ++fit;
    if (least > 0) ++repeat;
  }
  CHECK(fit > 100);
  CHECK(repeat > 50);
}

TEST_CASE("bytes beyond any table still make cuts that fit") {
  // A uniform chain: of 36 links of 1 GB that cost the same, with room for 16, at least 20 are made again.
  constexpr std::int64_t gigabyte = 1'000'000'000;
  const std::size_t count = 36;
  Links links;
  links.holds.assign(count, gigabyte);
  links.goes_on.assign(count, gigabyte / 100);
  links.around.assign(count, 0);
  links.cost.assign(count, 1);
  RecomputeChain chain(count, 2);
  for (std::size_t begin = 0; begin < count; ++begin) {
    for (std::size_t end = begin + 1; end <= count; ++end) {
      for (std::size_t level : {0, 1}) chain.at(begin, end, level) = form(links, begin, end, level);
    }
  }
  const std::vector<Cut> cuts = cheapest_cuts(chain, 16 * gigabyte, 0);
  REQUIRE(!cuts.empty());
  const double cost = cost_of(links, cuts, 16 * gigabyte, 0);
  CHECK(cost >= 20);
  CHECK(cost <= 22);
}
