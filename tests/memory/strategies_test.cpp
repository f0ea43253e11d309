// SPDX-License-Identifier: MIT
// Each strategy on instances small enough to be worked out by hand.
#include <doctest/doctest.h>

#include <string>

#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory_tests::blocks_of;

namespace {

MemoryPlan planned(const std::vector<Block>& blocks, const std::string& strategy) {
  const PlanOptions options{.strategy = strategy};
  MemoryPlan plan = plan_memory(blocks, options);
  const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
  CHECK_MESSAGE(faults.empty(), strategy, ": ", faults.empty() ? "" : faults.front());
  return plan;
}

std::int64_t height(const std::vector<Block>& blocks, const std::string& strategy) {
  return planned(blocks, strategy).height;
}

// The example of the NNC study: a [0,2) 8, b [1,3) 6, c [3,5) 5, d [2,4) 3, f [5,7) 8. At step 1 a and b are alive: 14.
const std::vector<Block> study = blocks_of({{0, 2, 8}, {1, 3, 6}, {3, 5, 5}, {2, 4, 3}, {5, 7, 8}});

// A large block dies and several small ones follow that together need just its room.
const std::vector<Block> one_then_many = blocks_of({{0, 2, 12}, {2, 4, 4}, {2, 4, 4}, {2, 4, 4}});

// A chain whose lifetimes touch only: everything can lie at 0, and 100 -> 10 -> 100 needs 100.
const std::vector<Block> chain = blocks_of({{0, 1, 100}, {1, 2, 10}, {2, 3, 100}});

}  // namespace

TEST_CASE("bump gives every block bytes of its own, in order of birth") {
  const MemoryPlan plan = planned(study, "bump");
  CHECK(plan.height == 30);
  CHECK(plan.naive == 30);
  CHECK(plan.bound == 14);
  CHECK(plan.offsets == std::vector<std::int64_t>{0, 8, 17, 14, 22});
}

TEST_CASE("owl lends whole blocks and cannot split a large one") {
  CHECK(height(one_then_many, "owl") == 12 + 4 + 4);
  CHECK(height(chain, "owl") == 100);
}

TEST_CASE("owl grows the largest free block, and only a free one") {
  // At step 2 the free blocks are 10 and 4; 12 takes the 10, which grows. The 100 is alive and stays what it is.
  CHECK(height(blocks_of({{0, 5, 100}, {0, 2, 10}, {0, 2, 4}, {2, 4, 12}}), "owl") == 100 + 12 + 4);
}

TEST_CASE("linear scan splits what has been freed, and merges it again") {
  CHECK(height(one_then_many, "linear_scan") == 12);
  CHECK(height(blocks_of({{0, 2, 4}, {0, 2, 4}, {0, 2, 4}, {2, 4, 12}}), "linear_scan") == 12);
}

TEST_CASE("linear scan takes the smallest gap, not the lowest") {
  // Gaps of 10 (lowest) and 4 are free at step 1, kept apart by a block of 1; the newcomer has 4 bytes, the next
  // one 10.
  const std::vector<Block> blocks = blocks_of({{0, 1, 10}, {0, 9, 9}, {0, 1, 4}, {0, 9, 3}, {1, 9, 4}, {2, 9, 10}});
  CHECK(height(blocks, "linear_scan") == 26);
}

TEST_CASE("middle out leaves room in one piece on both sides of the heaviest step") {
  // Four layers' values of 10 wait for the way back; before and after the middle whatever is missing to 40 is in use.
  const std::vector<Block> training = blocks_of({{0, 8, 10},
                                                 {1, 7, 10},
                                                 {2, 6, 10},
                                                 {3, 5, 10},
                                                 {0, 1, 30},
                                                 {1, 2, 20},
                                                 {2, 3, 10},
                                                 {5, 6, 10},
                                                 {6, 7, 20},
                                                 {7, 8, 30}});
  CHECK(height(training, "middle_out") == 40);
  CHECK(height(study, "middle_out") == 14);
  CHECK(height(chain, "middle_out") == 100);
}

TEST_CASE("middle out keeps to alignments where padded sizes do, and beside fixed blocks") {
  std::vector<Block> blocks = blocks_of({{0, 4, 100}, {1, 3, 60}, {3, 6, 4}, {4, 6, 100}});
  for (Block& block : blocks) block.alignment = 64;
  // 100 takes two lines of 64, 60 lies on the third, and 4 where 60 was.
  CHECK(planned(blocks, "middle_out").height == 128 + 60);
  blocks[1].fixed_offset = 0;
  CHECK(planned(blocks, "middle_out").height == 64 + 100);
}

TEST_CASE("lowest first rests every block on another one or on the ground") {
  const std::vector<Block> blocks = blocks_of({{0, 3, 4}, {0, 1, 6}, {1, 3, 6}, {2, 5, 3}, {3, 5, 10}});
  const MemoryPlan plan = planned(blocks, "lowest_first");
  CHECK(plan.height == 13);  // at step 2 and at step 3
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    bool rests = plan.offsets[i] == 0;
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      const bool meets = blocks[i].lower < blocks[j].upper && blocks[j].lower < blocks[i].upper;
      rests = rests || (meets && plan.offsets[j] + blocks[j].size == plan.offsets[i]);
    }
    CHECK(rests);
  }
  CHECK(height(one_then_many, "lowest_first") == 12);
  CHECK(height(study, "lowest_first") == 14);
}

TEST_CASE("best stays within its work limit when lifetimes are long and many") {
  // 20,000 blocks all alive together would have 200 million pairs; they fill one step, so any stack is the bound.
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < 20'000; ++i) blocks.push_back({.id = i, .lower = i, .upper = 40'000 - i, .size = 8});
  const PlanOptions options{.work = 1'000'000};
  const MemoryPlan plan = plan_memory(blocks, options);
  CHECK(plan.height == 160'000);
  CHECK(check_memory_plan(blocks, plan, options).empty());
}

TEST_CASE("greedy strategies meet the bound where one order is as good as any") {
  for (const char* strategy : {"greedy_by_size", "greedy_by_area", "greedy_by_load", "greedy_by_breadth"}) {
    CAPTURE(strategy);
    CHECK(height(chain, strategy) == 100);
    CHECK(height(one_then_many, strategy) == 12);
    CHECK(height(study, strategy) == 14);
  }
}

TEST_CASE("greedy by size puts the largest at the bottom, whenever it lives") {
  const MemoryPlan plan = planned(blocks_of({{0, 3, 1}, {1, 2, 50}}), "greedy_by_size");
  CHECK(plan.offsets == std::vector<std::int64_t>{50, 0});
}

TEST_CASE("shared objects need the sum of positional maxima here") {
  // Alive together: {100, 20} and then {60, 50}: positional maxima 100 and 50.
  const std::vector<Block> blocks = blocks_of({{0, 1, 100}, {0, 1, 20}, {1, 2, 60}, {1, 2, 50}});
  CHECK(height(blocks, "shared_objects") == 150);
}

TEST_CASE("min-cost flow chains blocks where that grows objects least") {
  // The third may follow the first for nothing; then the second opens an object of 10. Following each other would be
  // charged 90 for growing again, although the object does not grow: the flow is optimal for its own cost only.
  CHECK(height(chain, "mincost_flow") == 110);
  // 100 and 20 end; 60 and 50 start: 60 follows 100 and 50 follows 20, at a growth of 30.
  CHECK(height(blocks_of({{0, 1, 100}, {0, 1, 20}, {1, 2, 60}, {1, 2, 50}}), "mincost_flow") == 150);
}

TEST_CASE("gergov separates the two blocks that share a byte") {
  CHECK(height(chain, "gergov") == 100);
  CHECK(height(blocks_of({{0, 2, 5}, {1, 3, 5}, {2, 4, 5}}), "gergov") == 10);
}

TEST_CASE("nnc reaches the bound of its study's example, the rule of 2018 does not") {
  CHECK(height(study, "nnc") == 14);
  CHECK(height(study, "nnc2018") == 16);
}

TEST_CASE("nnc opens a buffer of exactly the size that no single edge offers") {
  // 14 opens a buffer, the first 8 takes its bytes over; the second 8 finds 6 left and opens a buffer of its own.
  CHECK(height(blocks_of({{0, 2, 14}, {2, 3, 8}, {2, 4, 8}}), "nnc") == 14 + 8);
}

TEST_CASE("exact proves what no plan can avoid") {
  // Load 3 at every step, but no plan of height 3: the classic gap of dynamic storage allocation.
  const std::vector<Block> blocks =
      blocks_of({{0, 2, 1}, {1, 4, 1}, {2, 3, 2}, {3, 6, 1}, {0, 1, 2}, {4, 5, 2}, {5, 7, 1}, {6, 7, 2}});
  const MemoryPlan plan = planned(blocks, "exact");
  CHECK(plan.height == memory_tests::lowest_height(blocks));
  CHECK(plan.proven_optimal);
  CHECK(plan.bound == plan.height);
}

TEST_CASE("every strategy takes no blocks, one block, and blocks without size or lifetime") {
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available) continue;
    const std::string name(strategy.name);
    CAPTURE(name);
    CHECK(height({}, name) == 0);
    CHECK(height(blocks_of({{3, 4, 7}}), name) == 7);
    CHECK(height(blocks_of({{0, 5, 0}, {2, 2, 9}}), name) == 0);
  }
}

TEST_CASE("blocks of one size reach the bound under every strategy but bump") {
  const std::vector<Block> blocks = blocks_of({{0, 3, 64}, {1, 4, 64}, {3, 6, 64}, {4, 7, 64}, {5, 8, 64}, {0, 8, 64}});
  for (const char* strategy : {"owl", "linear_scan", "exact", "anneal", "best"}) {
    CAPTURE(strategy);
    CHECK(height(blocks, strategy) == 256);
  }
}

TEST_CASE("a block that ends at a step shares bytes with one that starts there") {
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available || strategy.name == "bump") continue;
    CAPTURE(strategy.name);
    CHECK(height(blocks_of({{0, 9, 10}, {9, 12, 10}}), std::string(strategy.name)) == 10);
    CHECK(height(blocks_of({{0, 10, 10}, {9, 12, 10}}), std::string(strategy.name)) == 20);
  }
}

TEST_CASE("mip without its solver says what is missing, and with it finds the optimum") {
  const std::vector<Block> blocks = blocks_of({{0, 2, 3}, {1, 3, 4}, {2, 5, 2}, {3, 6, 5}, {4, 8, 3}, {0, 6, 2}});
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (strategy.name != "mip") continue;
    if (strategy.available) {
      CHECK(height(blocks, "mip") == memory_tests::lowest_height(blocks));
    } else {
      CHECK_THROWS_WITH_AS(height(blocks, "mip"), doctest::Contains("built without it"), ValueError);
    }
  }
}

TEST_CASE("an unknown strategy is refused with the names of those that exist") {
  CHECK_THROWS_WITH_AS(height(study, "magic"), doctest::Contains("no strategy `magic`; there are bump, owl"),
                       ValueError);
}
