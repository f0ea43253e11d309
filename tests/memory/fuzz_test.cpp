// SPDX-License-Identifier: MIT
// Random blocks through every strategy and the checker, and small ones against brute force; fixed seeds.
#include <doctest/doctest.h>

#include <string>

#include "tests/memory/oracle.hpp"

using namespace tyto;

TEST_CASE("every strategy makes valid plans of random blocks") {
  std::mt19937_64 random(2024);
  for (int round = 0; round < 1500; ++round) {
    const std::vector<Block> blocks = memory_tests::random_blocks(
        random, {.most_blocks = 24, .alignments = round % 3 == 0, .fixed = round % 4 == 0, .empty = round % 5 == 0});
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || (strategy.name == "mip" && round % 50 != 0)) continue;
      const PlanOptions options{.strategy = std::string(strategy.name), .work = 100'000, .threads = 1};
      const MemoryPlan plan = plan_memory(blocks, options);
      const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
      CHECK_MESSAGE(faults.empty(), strategy.name, " in round ", round, ": ", faults.empty() ? "" : faults.front());
    }
  }
}

TEST_CASE("exact equals brute force on blocks of every kind") {
  std::mt19937_64 random(77);
  int above_load = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = 7,
                                                                           .steps = 8,
                                                                           .largest = 1 + round % 13,
                                                                           .alignments = round % 3 == 0,
                                                                           .fixed = round % 4 == 0});
    const MemoryPlan plan = plan_memory(blocks, {.strategy = "exact", .threads = 1});
    const std::int64_t lowest = memory_tests::lowest_height(blocks);
    CHECK_MESSAGE(plan.height == lowest, "round ", round);
    CHECK(plan.proven_optimal);
    CHECK(plan.bound == lowest);
    above_load += memory_bound(blocks) < lowest ? 1 : 0;
  }
  CHECK(above_load > 50);  // the instances are not all trivial
}

TEST_CASE("best never does worse than any greedy strategy") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = 40, .steps = 20});
    const std::int64_t height = plan_memory(blocks, {.work = 100'000, .threads = 1}).height;
    for (const char* greedy : {"linear_scan", "greedy_by_size", "greedy_by_area", "greedy_by_breadth"}) {
      CHECK(height <= plan_memory(blocks, {.strategy = greedy}).height);
    }
  }
}

TEST_CASE("exact solves the MiniMalloc instances to their optima") {
  struct Known {
    const char* letter;
    std::int64_t optimum;
  };
  for (const Known& known : {Known{"A", 1048576}, Known{"C", 1039360}, Known{"E", 1048576}, Known{"G", 1048576},
                             Known{"I", 1048576}, Known{"K", 1048576}}) {
    const auto blocks = memory_tests::minimalloc_instance(known.letter);
    if (!blocks) {
      MESSAGE("left out: no MiniMalloc instance ", known.letter, " below $TYTO_DATA/dsa/minimalloc");
      continue;
    }
    const MemoryPlan plan = plan_memory(*blocks, {.strategy = "exact"});
    CHECK(plan.height == known.optimum);
    CHECK(plan.proven_optimal);
    CHECK(check_memory_plan(*blocks, plan).empty());
  }
}
