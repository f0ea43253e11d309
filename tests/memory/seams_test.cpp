// Blocks glued of two: planned with and without each seam, never worse than glued, sometimes better.
#include <doctest/doctest.h>

#include <algorithm>

#include "optimiser/memory/seams.hpp"
#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory::Seam;
using memory::SeamedPlan;
using memory_tests::blocks_of;
using memory_tests::lowest_height;

namespace {

// Chains of results over each other, each a block with seams where the next one takes over.
struct Glued {
  std::vector<Block> blocks;
  std::vector<Seam> seams;
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
    while (glued.seams.size() < 2 && below(3) == 0) {
      glued.seams.push_back({glued.blocks.size(), block.upper});
      block.upper += 1 + below(4);
    }
    glued.blocks.push_back(block);
  }
  return glued;
}

// The least height over all ways to open seams, by brute force.
std::int64_t lowest_of_all_ways(const Glued& glued) {
  std::int64_t lowest = lowest_height(glued.blocks);
  for (unsigned ways = 1; ways < 1U << glued.seams.size(); ++ways) {
    std::vector<Block> pieces;
    for (std::size_t b = 0; b < glued.blocks.size(); ++b) {
      Block piece = glued.blocks[b];
      for (std::size_t s = 0; s < glued.seams.size(); ++s) {
        if (glued.seams[s].block != b || (ways >> s & 1) == 0) continue;
        const Block whole = piece;
        piece.upper = glued.seams[s].at + 1;
        pieces.push_back(piece);
        piece = whole;
        piece.lower = glued.seams[s].at;
      }
      pieces.push_back(piece);
    }
    lowest = std::min(lowest, lowest_height(pieces));
  }
  return lowest;
}

}  // namespace

TEST_CASE("an opened seam leaves both tensors alive at its step and nothing else") {
  const std::vector<Block> blocks = blocks_of({{0, 9, 4}, {2, 3, 7}});
  const std::vector<Seam> seams{{0, 3}, {0, 6}};
  const std::vector<std::size_t> both{1, 0};
  const std::vector<Block> pieces = memory::with_opened(blocks, seams, both);
  REQUIRE(pieces.size() == 4);
  const auto is = [](const Block& block, std::int64_t lower, std::int64_t upper, std::int64_t size) {
    return block.lower == lower && block.upper == upper && block.size == size;
  };
  CHECK(is(pieces[0], 0, 4, 4));
  CHECK(is(pieces[1], 2, 3, 7));
  CHECK(is(pieces[2], 6, 9, 4));
  CHECK(is(pieces[3], 3, 7, 4));
}

TEST_CASE("with seams a plan is never higher than glued, and found in all ways to open them") {
  std::mt19937_64 random(1);
  int above = 0;   // glued plans that lie above their bound
  int better = 0;  // of them, lower with seams
  int lowest = 0;  // of them, as low as any way to open seams allows
  constexpr int rounds = 20'000;
  const PlanOptions options{.work = 100'000};
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const Glued glued = random_glued(random);
    const SeamedPlan planned = memory::plan_with_seams(glued.blocks, glued.seams, options);
    const std::int64_t without = plan_memory(glued.blocks, options).height;
    if (without == memory_bound(glued.blocks)) {  // no way to open seams is lower
      REQUIRE(planned.opened.empty());
      continue;
    }
    ++above;
    REQUIRE(planned.blocks.size() == glued.blocks.size() + planned.opened.size());
    CHECK(check_memory_plan(planned.blocks, planned.plan).empty());
    CHECK(planned.plan.height <= without);
    const std::int64_t least = lowest_of_all_ways(glued);
    CHECK(planned.plan.height >= least);
    better += planned.plan.height < without;
    lowest += planned.plan.height == least;
    CHECK((planned.plan.height < without) == !planned.opened.empty());
  }
  CHECK(better > 0);
  CHECK(lowest > above * 95 / 100);
  MESSAGE(above << " glued plans above their bound: " << better << " lower with seams, " << lowest
                << " the lowest there is");
}
