// SPDX-License-Identifier: MIT
// A plan kept as an order gives valid offsets for other sizes.
#include <doctest/doctest.h>

#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory_tests::blocks_of;

TEST_CASE("at the planned sizes the order gives the plan back, pushed down") {
  const std::vector<Block> blocks = blocks_of({{0, 3, 4}, {1, 5, 6}, {3, 6, 4}, {5, 7, 9}});
  const MemoryPlan plan = plan_memory(blocks);
  const MemoryPlan again = MemoryOrder(blocks, plan).apply(blocks);
  CHECK(again.height == plan.height);
  for (std::size_t i = 0; i < blocks.size(); ++i) CHECK(again.offsets[i] <= plan.offsets[i]);
}

TEST_CASE("sizes in proportion keep the ratio to the bound") {
  std::vector<Block> blocks = blocks_of({{0, 3, 4}, {1, 5, 6}, {3, 6, 4}, {5, 7, 9}});
  const MemoryOrder order(blocks, plan_memory(blocks));
  for (Block& block : blocks) block.size *= 32;
  const MemoryPlan plan = order.apply(blocks);
  CHECK(plan.height == 32 * 13);
  CHECK(plan.proven_optimal);
}

TEST_CASE("blocks may vanish and appear") {
  std::vector<Block> blocks = blocks_of({{0, 3, 0}, {1, 5, 6}, {2, 6, 4}});
  const MemoryOrder order(blocks, plan_memory(blocks));
  blocks[0].size = 10;
  blocks[1].size = 0;
  const MemoryPlan plan = order.apply(blocks);
  CHECK(check_memory_plan(blocks, plan).empty());
  CHECK(plan.height == 14);
}

TEST_CASE("random plans stay valid under random sizes, under both conflict policies") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Block> blocks = memory_tests::random_blocks(random, {.alignments = true, .empty = true});
    PlanOptions options;
    options.strategy = round % 2 == 0 ? "greedy_by_size" : "linear_scan";
    if (round % 3 == 0) {
      options.precedence = std::make_shared<Precedence>(memory_tests::random_precedence(random, blocks));
    } else if (round % 3 == 1) {
      options.arena_limit = 100;
    }
    const MemoryOrder order(blocks, plan_memory(blocks, options), options);
    for (Block& block : blocks) block.size = static_cast<std::int64_t>(random() % 50);
    PlanOptions without_limit = options;
    without_limit.arena_limit.reset();  // other sizes may need larger arenas
    const std::vector<std::string> faults = check_memory_plan(blocks, order.apply(blocks), without_limit);
    CHECK_MESSAGE(faults.empty(), "round ", round, ": ", faults.empty() ? "" : faults.front());
  }
}

TEST_CASE("a fixed block that would be lifted is an error, as are other lifetimes") {
  std::vector<Block> blocks = blocks_of({{0, 4, 8}, {0, 4, 8}});
  blocks[1].fixed_offset = 8;
  const MemoryOrder order(blocks, plan_memory(blocks));
  blocks[0].size = 9;
  CHECK_THROWS_WITH_AS(order.apply(blocks),
                       "MemoryOrder::apply: block 1 is fixed at 8, but the blocks below it reach to 9", ValueError);
  blocks[0].upper = 3;
  CHECK_THROWS_WITH_AS(order.apply(blocks), doctest::Contains("only sizes may change"), ValueError);
  CHECK_THROWS_AS(order.apply(std::vector<Block>{}), ValueError);
  CHECK_THROWS_WITH_AS(MemoryOrder(blocks, MemoryPlan{}), doctest::Contains("the plan is not valid"), ValueError);
}
