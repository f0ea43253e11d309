// SPDX-License-Identifier: MIT
// Planning for steps that may run at the same time.
#include <doctest/doctest.h>

#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory_tests::blocks_of;

namespace {

// A diamond: step 0 feeds 1 and 2, which feed 3. Block i is what step i writes.
Precedence diamond() {
  const Precedence::Edge edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const Precedence::Use uses[] = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {3, 1}, {2, 2}, {3, 2}, {3, 3}};
  return Precedence::of_graph(4, 4, edges, uses);
}

}  // namespace

TEST_CASE("a block precedes another when all its uses reach all of the other's") {
  const Precedence p = diamond();
  CHECK(p.conflict(0, 1));  // step 1 reads the one and writes the other
  CHECK(p.conflict(1, 2));  // steps 1 and 2 may run together
  CHECK(p.precedes(0, 3));  // both readers of 0 are done before step 3
  CHECK(!p.precedes(3, 0));
  CHECK(p.conflict(1, 3));
}

TEST_CASE("branches that may run together do not share, though one order would let them") {
  // Two independent chains of two steps; in the order 0 1 2 3 the first chain's block is dead when the second's begins.
  const Precedence::Edge edges[] = {{0, 1}, {2, 3}};
  const Precedence::Use uses[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
  const std::vector<Block> blocks = blocks_of({{0, 2, 100}, {2, 4, 100}});
  CHECK(plan_memory(blocks).height == 100);
  const PlanOptions concurrent{.precedence = std::make_shared<Precedence>(Precedence::of_graph(2, 4, edges, uses))};
  CHECK(memory_bound(blocks, concurrent) == 200);
  CHECK(plan_memory(blocks, concurrent).height == 200);
}

TEST_CASE("the bound is the heaviest antichain") {
  // 1 precedes 3 and 2 precedes 4; all else conflicts but 0, which precedes everyone.
  Precedence p(5);
  for (std::size_t i = 1; i < 5; ++i) p.set_precedes(0, i);
  p.set_precedes(1, 3);
  p.set_precedes(2, 4);
  const std::vector<Block> blocks = blocks_of({{0, 1, 11}, {1, 2, 5}, {2, 3, 3}, {3, 4, 4}, {4, 5, 6}});
  // max(5, 4) + max(3, 6) = 11, as is block 0 alone.
  CHECK(memory_bound(blocks, {.precedence = std::make_shared<Precedence>(p)}) == 11);
}

TEST_CASE("the antichain found by flow is the heaviest of all, by enumeration") {
  std::mt19937_64 random(17);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Block> blocks = memory_tests::random_blocks(random, {.most_blocks = 10});
    const auto precedence = std::make_shared<Precedence>(memory_tests::random_precedence(random, blocks));
    std::int64_t heaviest = 0;
    for (std::size_t set = 0; set < std::size_t{1} << blocks.size(); ++set) {
      std::int64_t weight = 0;
      for (std::size_t a = 0; a < blocks.size() && weight >= 0; ++a) {
        if ((set >> a & 1) == 0) continue;
        weight += blocks[a].size;
        for (std::size_t b = 0; b < a; ++b) {
          if ((set >> b & 1) != 0 && !precedence->conflict(a, b)) {
            weight = -1;
            break;
          }
        }
      }
      heaviest = std::max(heaviest, weight);
    }
    CHECK(memory_bound(blocks, {.precedence = precedence}) == heaviest);
  }
}

TEST_CASE("every strategy is safe under a precedence, and exact is optimal") {
  std::mt19937_64 random(23);
  for (int round = 0; round < 150; ++round) {
    const std::vector<Block> blocks =
        memory_tests::random_blocks(random, {.most_blocks = round % 2 == 0 ? 6 : 20, .alignments = round % 4 == 1});
    const auto precedence = std::make_shared<Precedence>(memory_tests::random_precedence(random, blocks));
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || (strategy.name == "mip" && round % 10 != 0)) continue;
      const bool exact_search = strategy.name == "exact" && blocks.size() <= 6;
      const PlanOptions options{.strategy = std::string(strategy.name),
                                .work = exact_search ? 1'000'000'000 : 300'000,
                                .precedence = precedence};
      const MemoryPlan plan = plan_memory(blocks, options);
      const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
      CHECK_MESSAGE(faults.empty(), strategy.name, " in round ", round, ": ", faults.empty() ? "" : faults.front());
      if (exact_search) CHECK(plan.height == memory_tests::lowest_height(blocks, options));
    }
  }
}

TEST_CASE("a precedence that does not fit the blocks is refused") {
  const std::vector<Block> blocks = blocks_of({{0, 2, 1}, {1, 3, 1}});
  CHECK_THROWS_WITH_AS(plan_memory(blocks, {.precedence = std::make_shared<Precedence>(3)}),
                       "plan_memory: the precedence is about 3 blocks, but there are 2", ValueError);
  auto wrong = std::make_shared<Precedence>(2);
  wrong->set_precedes(0, 1);
  CHECK_THROWS_WITH_AS(plan_memory(blocks, {.precedence = wrong}),
                       doctest::Contains("are not one order of the precedence"), ValueError);
  CHECK_THROWS_AS(wrong->set_precedes(1, 1), IndexError);
  CHECK_THROWS_AS(wrong->set_precedes(0, 2), IndexError);
  const Precedence::Edge backwards[] = {{1, 0}};
  CHECK_THROWS_AS(Precedence::of_graph(1, 2, backwards, {}), ValueError);
  const Precedence::Use stray[] = {{5, 0}};
  CHECK_THROWS_AS(Precedence::of_graph(1, 2, {}, stray), ValueError);
}
