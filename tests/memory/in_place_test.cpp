// SPDX-License-Identifier: MIT
// In-place reuses: planned shared and separated, never worse than shared, sometimes better.
#include <doctest/doctest.h>

#include <algorithm>

#include "optimiser/memory/in_place.hpp"
#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory::InPlacePlan;
using memory::InPlaceReuse;
using memory_tests::blocks_of;
using memory_tests::lowest_height;

namespace {

// Chains of results over each other, each a block with in-place reuses where the next one takes over.
struct Glued {
  std::vector<Block> blocks;
  std::vector<InPlaceReuse> reuses;
};

Glued random_glued(std::mt19937_64& random) {
  const auto below = [&](int count) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(count)); };
  Glued glued;
  // Blocks that stay where they are leave gaps at different heights: without them, plans of few blocks meet their bound
  // whether glued or not.
  for (const std::int64_t lower : {0, 5}) {
    Block block;
    block.id = static_cast<std::int64_t>(glued.blocks.size());
    block.size = 1 + below(4);
    block.lower = lower;
    block.upper = lower + 1 + below(5);
    block.fixed_offset = below(5);
    glued.blocks.push_back(block);
  }
  for (int chains = 4; chains > 0; --chains) {
    Block block;
    block.id = static_cast<std::int64_t>(glued.blocks.size());
    block.size = 1 + below(4);
    block.lower = below(8);
    block.upper = block.lower + 1 + below(4);
    while (glued.reuses.size() < 2 && below(3) == 0) {
      glued.reuses.push_back({glued.blocks.size(), block.upper, block.upper + 1});
      block.upper += 1 + below(4);
    }
    glued.blocks.push_back(block);
  }
  return glued;
}

// The least height over all ways to open in-place reuses, by brute force.
std::int64_t lowest_of_all_ways(const Glued& glued) {
  std::int64_t lowest = lowest_height(glued.blocks);
  for (unsigned ways = 1; ways < 1U << glued.reuses.size(); ++ways) {
    std::vector<Block> pieces;
    for (std::size_t b = 0; b < glued.blocks.size(); ++b) {
      Block piece = glued.blocks[b];
      for (std::size_t s = 0; s < glued.reuses.size(); ++s) {
        if (glued.reuses[s].block != b || (ways >> s & 1) == 0) continue;
        const Block whole = piece;
        piece.upper = glued.reuses[s].at + 1;
        pieces.push_back(piece);
        piece = whole;
        piece.lower = glued.reuses[s].at;
      }
      pieces.push_back(piece);
    }
    lowest = std::min(lowest, lowest_height(pieces));
  }
  return lowest;
}

}  // namespace

TEST_CASE("a separated in-place reuse leaves both tensors alive at its step and nothing else") {
  const std::vector<Block> blocks = blocks_of({{0, 9, 4}, {2, 3, 7}});
  const std::vector<InPlaceReuse> reuses{{0, 3, 4}, {0, 6, 7}};
  const std::vector<std::size_t> both{1, 0};
  std::vector<std::vector<Span>> spans;
  const std::vector<Block> pieces = memory::with_separated(blocks, reuses, both, spans);
  REQUIRE(pieces.size() == 4);
  const auto is = [](const Block& block, std::int64_t lower, std::int64_t upper, std::int64_t size) {
    return block.lower == lower && block.upper == upper && block.size == size;
  };
  CHECK(is(pieces[0], 0, 4, 4));
  CHECK(is(pieces[1], 2, 3, 7));
  CHECK(is(pieces[2], 6, 9, 4));
  CHECK(is(pieces[3], 3, 7, 4));
}

TEST_CASE("a lifetime with holes is cut where an in-place reuse is separated") {
  const std::vector<Span> lifetime{{0, 2}, {4, 7}, {8, 9}};
  std::vector<Block> blocks = blocks_of({{0, 9, 4}});
  blocks[0].spans = lifetime;
  std::vector<std::vector<Span>> spans;
  const auto spans_of = [](const Block& block) { return std::vector<Span>(block.spans.begin(), block.spans.end()); };
  const std::vector<std::size_t> only{0};
  const std::vector<InPlaceReuse> within{{0, 5, 6}};
  std::vector<Block> pieces = memory::with_separated(blocks, within, only, spans);
  REQUIRE(pieces.size() == 2);
  CHECK(spans_of(pieces[0]) == std::vector<Span>{{0, 2}, {4, 6}});
  CHECK(pieces[0].upper == 6);
  CHECK(spans_of(pieces[1]) == std::vector<Span>{{5, 7}, {8, 9}});
  CHECK(pieces[1].lower == 5);
  const std::vector<InPlaceReuse> last{{0, 8, 9}};
  pieces = memory::with_separated(blocks, last, only, spans);
  REQUIRE(pieces.size() == 2);
  CHECK(spans_of(pieces[0]) == lifetime);
  CHECK(pieces[1].spans.empty());
  CHECK(pieces[1].lower == 8);
  CHECK(pieces[1].upper == 9);
}

TEST_CASE("with in-place reuses separated a plan is never higher, and found in all ways to separate them") {
  std::mt19937_64 random(1);
  int above = 0;   // glued plans that lie above their bound
  int better = 0;  // of them, lower with in-place reuses
  int lowest = 0;  // of them, as low as any way to open in-place reuses allows
  constexpr int rounds = 20'000;
  const PlanOptions options{.work = 100'000};
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const Glued glued = random_glued(random);
    const InPlacePlan planned = memory::plan_in_place(glued.blocks, glued.reuses, options);
    const std::int64_t without = plan_memory(glued.blocks, options).height;
    if (without == memory_bound(glued.blocks)) {  // no way to open in-place reuses is lower
      REQUIRE(planned.separated.empty());
      continue;
    }
    ++above;
    REQUIRE(planned.blocks.size() == glued.blocks.size() + planned.separated.size());
    CHECK(check_memory_plan(planned.blocks, planned.plan).empty());
    CHECK(planned.plan.height <= without);
    const std::int64_t least = lowest_of_all_ways(glued);
    CHECK(planned.plan.height >= least);
    better += planned.plan.height < without;
    lowest += planned.plan.height == least;
    CHECK((planned.plan.height < without) == !planned.separated.empty());
  }
  CHECK(better > 0);
  CHECK(lowest > above * 95 / 100);
  MESSAGE(above << " plans above their bound: " << better << " lower with reuses separated, " << lowest
                << " the lowest there is");
}
