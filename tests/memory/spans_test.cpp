// SPDX-License-Identifier: MIT
// Blocks whose lifetimes have holes: plans against brute force, the checker, stored orders, pictures, and running
// programs.
#include <doctest/doctest.h>

#include <string>

#include "tests/memory/oracle.hpp"
#include "tests/memory/region_programs.hpp"

using namespace tyto;
using memory_tests::blocks_of;

namespace {

const std::vector<Span> around{{0, 3}, {6, 10}};

// The second lives in the hole of the first.
std::vector<Block> one_in_the_hole() {
  std::vector<Block> blocks = blocks_of({{0, 10, 8}, {3, 6, 8}});
  blocks[0].spans = around;
  return blocks;
}

}  // namespace

TEST_CASE("a block lies in the hole of another") {
  const std::vector<Block> blocks = one_in_the_hole();
  CHECK(memory_bound(blocks) == 8);
  for (const char* name : {"best", "exact", "anneal", "greedy_by_size", "greedy_by_breadth", "lowest_first",
                           "linear_scan", "shared_objects"}) {
    const MemoryPlan plan = plan_memory(blocks, {.strategy = name, .work = 100'000});
    CHECK_MESSAGE(plan.height == 8, name);
    CHECK(plan.proven_optimal);
  }
  // Those that sweep over whole lives say 16, which is valid.
  for (const char* name : {"owl", "nnc", "nnc2018", "mincost_flow"}) {
    CHECK_MESSAGE(plan_memory(blocks, {.strategy = name}).height == 16, name);
  }
}

TEST_CASE("the peak counts the blocks that are alive at its step") {
  std::vector<Block> blocks = one_in_the_hole();
  blocks[1].size = 9;
  const MemoryPlan plan = plan_memory(blocks);
  CHECK(plan.height == 9);
  CHECK(plan.peak_step == 3);
  REQUIRE(plan.top_at_peak.size() == 1);
  CHECK(plan.top_at_peak[0].label == "block 1");
}

TEST_CASE("every strategy makes valid plans of blocks with holes, no lower than brute force") {
  std::mt19937_64 random(41);
  for (int round = 0; round < 500; ++round) {
    const bool small = round % 2 == 0;
    std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = small ? 6 : 24,
                                                                     .largest = small ? 9 : 40,
                                                                     .alignments = round % 3 == 0,
                                                                     .fixed = round % 4 == 0,
                                                                     .empty = round % 5 == 0});
    const auto lifetimes = memory_tests::make_holes(random, blocks);
    const std::int64_t lowest = small ? memory_tests::lowest_height(blocks) : 0;
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || (strategy.name == "mip" && round % 50 != 0)) continue;
      const PlanOptions options{.strategy = std::string(strategy.name), .work = 100'000, .threads = 1};
      const MemoryPlan plan = plan_memory(blocks, options);
      const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
      CHECK_MESSAGE(faults.empty(), strategy.name, " in round ", round, ": ", faults.empty() ? "" : faults.front());
      CHECK_MESSAGE(plan.height >= lowest, strategy.name, " in round ", round);
      // Step by step, without the checker: no byte has two owners.
      for (std::int64_t step = 0; step < 12; ++step) {
        for (std::size_t a = 0; a < blocks.size(); ++a) {
          for (std::size_t b = 0; b < a; ++b) {
            if (!memory_tests::alive_at(blocks[a], step) || !memory_tests::alive_at(blocks[b], step)) continue;
            const bool apart = plan.offsets[a] + blocks[a].size <= plan.offsets[b] ||
                               plan.offsets[b] + blocks[b].size <= plan.offsets[a] || blocks[a].size == 0 ||
                               blocks[b].size == 0;
            CHECK_MESSAGE(apart, strategy.name, " in round ", round, " at step ", step);
          }
        }
      }
    }
  }
}

TEST_CASE("exact equals brute force on blocks with holes") {
  std::mt19937_64 random(78);
  int above_load = 0;
  int below_hull = 0;
  for (int round = 0; round < 800; ++round) {
    std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = 7,
                                                                     .steps = 8,
                                                                     .largest = 1 + round % 13,
                                                                     .alignments = round % 3 == 0,
                                                                     .fixed = round % 4 == 0});
    const auto lifetimes = memory_tests::make_holes(random, blocks);
    const MemoryPlan plan = plan_memory(blocks, {.strategy = "exact", .threads = 1});
    const std::int64_t lowest = memory_tests::lowest_height(blocks);
    CHECK_MESSAGE(plan.height == lowest, "round ", round);
    CHECK(plan.proven_optimal);
    CHECK(plan.bound == lowest);
    above_load += memory_bound(blocks) < lowest ? 1 : 0;
    for (Block& block : blocks) block.spans = {};
    below_hull += lowest < memory_bound(blocks) ? 1 : 0;
  }
  CHECK(above_load > 20);  // the instances are not all trivial
  CHECK(below_hull > 20);  // and some fit where whole lives could not
}

TEST_CASE("the mixed-integer programme makes use of holes") {
  if (!std::ranges::find(memory_strategies(), "mip", &MemoryStrategy::name)->available) return;
  std::mt19937_64 random(79);
  int below_hull = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = 7, .steps = 8, .largest = 9});
    const auto lifetimes = memory_tests::make_holes(random, blocks);
    const std::int64_t height = plan_memory(blocks, {.strategy = "mip", .threads = 1}).height;
    CHECK(height == memory_tests::lowest_height(blocks));
    for (Block& block : blocks) block.spans = {};
    below_hull += height < memory_bound(blocks) ? 1 : 0;
  }
  CHECK(below_hull > 2);  // whole lives need more
}

TEST_CASE("spans without a hole give the plan of the whole lifetime, to the last offset") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Block> blocks =
        memory_tests::random_blocks(random, {.most_blocks = 30, .alignments = round % 2 == 0});
    std::vector<Block> spanned = blocks;
    std::vector<std::vector<Span>> lifetimes(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      // Whole, or in two spans that touch.
      const Block& block = blocks[i];
      const std::int64_t cut = block.lower + 1;
      if (i % 2 == 0 || cut == block.upper) {
        lifetimes[i] = {{block.lower, block.upper}};
      } else {
        lifetimes[i] = {{block.lower, cut}, {cut, block.upper}};
      }
      spanned[i].spans = lifetimes[i];
    }
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || strategy.name == "mip") continue;
      const PlanOptions options{.strategy = std::string(strategy.name), .work = 100'000, .threads = 1};
      const MemoryPlan plain = plan_memory(blocks, options);
      const MemoryPlan with_spans = plan_memory(spanned, options);
      CHECK_MESSAGE(plain.offsets == with_spans.offsets, strategy.name, " in round ", round);
      CHECK(plain.bound == with_spans.bound);
      CHECK(plain.strategy == with_spans.strategy);
    }
  }
}

TEST_CASE("plans of lifetimes with holes do not depend on threads or repetition") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const memory_tests::RegionProgram program(seed, 2, memory_tests::Bodies::each_phase);
    const MemoryPlan first = plan_memory(program.blocks(), {.work = 2'000'000, .threads = 1});
    for (const int threads : {1, 2, 4}) {
      const MemoryPlan again = plan_memory(program.blocks(), {.work = 2'000'000, .threads = threads});
      CHECK(again.offsets == first.offsets);
      CHECK(again.strategy == first.strategy);
    }
  }
}

TEST_CASE("programs of loops and branches find every value where its plan says") {
  for (const auto bodies : {memory_tests::Bodies::once, memory_tests::Bodies::each_phase}) {
    int holes = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const memory_tests::RegionProgram program(seed, 2, bodies);
      for (const Block& block : program.blocks()) holes += block.spans.size() > 1 ? 1 : 0;
      CHECK(memory_bound(program.blocks()) == program.load());
      for (const MemoryStrategy& strategy : memory_strategies()) {
        if (!strategy.available || strategy.name == "mip" || strategy.name == "exact") continue;
        const PlanOptions options{.strategy = std::string(strategy.name), .work = 100'000, .threads = 1};
        const MemoryPlan plan = plan_memory(program.blocks(), options);
        CHECK(check_memory_plan(program.blocks(), plan, options).empty());
        const std::string wrong = program.judge(plan.offsets, 5, seed);
        CHECK_MESSAGE(wrong.empty(), strategy.name, ", program ", seed, ": ", wrong);
      }
    }
    CHECK(holes > 100);
  }
}

TEST_CASE("the judge of programs sees memory that is shared too early") {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const memory_tests::RegionProgram program(seed, 2, memory_tests::Bodies::once);
    // Each block ends with its first span: what is alive again after the hole is forgotten.
    std::vector<Block> blocks = program.blocks();
    for (Block& block : blocks) {
      block.upper = block.spans.front().upper;
      block.spans = {};
    }
    seen += program.judge(plan_memory(blocks, {.work = 100'000, .threads = 1}).offsets, 5, seed).empty() ? 0 : 1;
  }
  CHECK(seen > 5);
}

TEST_CASE("the checker sees an overlap in a later span and malformed spans") {
  std::vector<Block> blocks = blocks_of({{0, 10, 8}, {7, 9, 8}});
  blocks[0].spans = around;
  MemoryPlan plan = plan_memory(blocks);
  CHECK(plan.height == 16);
  plan.offsets = {0, 0};
  plan.height = 8;
  plan.arena_heights = {8};
  plan.bound = 8;
  plan.proven_optimal = false;
  const std::vector<std::string> faults = check_memory_plan(blocks, plan);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0] == "block 0 at [0, 8) and block 1 at [0, 8) share bytes while both are alive");
  blocks = one_in_the_hole();
  plan = plan_memory(blocks);
  blocks[0].upper = 11;
  CHECK(check_memory_plan(blocks, plan).front() ==
        "block 0 has spans that are not ascending and disjoint from its lower to its upper step");
}

TEST_CASE("spans that make no sense are refused") {
  std::vector<Block> blocks = blocks_of({{0, 10, 8}});
  const auto refused = [&](std::vector<Span> spans, const char* why) {
    blocks[0].spans = spans;
    CHECK_THROWS_WITH_AS(plan_memory(blocks), why, ValueError);
  };
  refused({{0, 3}, {3, 3}, {5, 10}}, "plan_memory: block 0 has the empty span [3, 3); spans hold a step at least");
  refused({{0, 5}, {4, 10}},
          "plan_memory: block 0 has the span [4, 10) after [0, 5); spans are ascending and disjoint");
  refused({{1, 5}, {6, 10}}, "plan_memory: block 0 lives from 0 to 10, but its spans from 1 to 10; both are the same");
}

TEST_CASE("a stored order keeps holes for other sizes") {
  std::mt19937_64 random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks = memory_tests::random_blocks(random, {.alignments = true, .empty = true});
    const auto lifetimes = memory_tests::make_holes(random, blocks);
    const MemoryOrder order(blocks, plan_memory(blocks, {.strategy = "greedy_by_size"}));
    for (Block& block : blocks) block.size = static_cast<std::int64_t>(random() % 50);
    const std::vector<std::string> faults = check_memory_plan(blocks, order.apply(blocks));
    CHECK_MESSAGE(faults.empty(), "round ", round, ": ", faults.empty() ? "" : faults.front());
  }
  std::vector<Block> blocks = one_in_the_hole();
  const MemoryOrder order(blocks, plan_memory(blocks));
  for (Block& block : blocks) block.size *= 5;
  CHECK(order.apply(blocks).height == 40);
  blocks[0].spans = {};
  CHECK_THROWS_WITH_AS(order.apply(blocks), doctest::Contains("has another lifetime"), ValueError);
}

TEST_CASE("several arenas take blocks with holes") {
  std::mt19937_64 random(10);
  for (int round = 0; round < 100; ++round) {
    std::vector<Block> blocks = memory_tests::random_blocks(random, {});
    const auto lifetimes = memory_tests::make_holes(random, blocks);
    const PlanOptions options{
        .strategy = round % 2 == 0 ? "best" : "owl", .arena_limit = 60, .work = 50'000, .threads = 1};
    const std::vector<std::string> faults = check_memory_plan(blocks, plan_memory(blocks, options), options);
    CHECK_MESSAGE(faults.empty(), "round ", round, ": ", faults.empty() ? "" : faults.front());
  }
}

TEST_CASE("the map draws a rectangle for each span") {
  const std::vector<Block> blocks = one_in_the_hole();
  const std::string svg = memory_map_svg(blocks, plan_memory(blocks));
  std::size_t drawn = 0;
  for (std::size_t at = svg.find("steps 0 to 3, 6 to 10"); at != std::string::npos;
       at = svg.find("steps 0 to 3, 6 to 10", at + 1)) {
    ++drawn;
  }
  CHECK(drawn == 2);
}
