// SPDX-License-Identifier: MIT
// The checker accepts good plans and finds each planted fault.
#include <doctest/doctest.h>

#include <string>

#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory_tests::blocks_of;

namespace {

MemoryPlan plan_at(std::vector<std::int64_t> offsets, std::int64_t height) {
  MemoryPlan plan;
  plan.offsets = std::move(offsets);
  plan.height = height;
  plan.arena_heights = {height};
  return plan;
}

std::string first_fault(const std::vector<Block>& blocks, const MemoryPlan& plan, const PlanOptions& options = {}) {
  const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
  return faults.empty() ? "" : faults.front();
}

const std::vector<Block> two = blocks_of({{0, 3, 10}, {2, 4, 5}});

}  // namespace

TEST_CASE("a valid plan has no faults") {
  CHECK(first_fault(two, plan_at({0, 10}, 15)) == "");
  CHECK(first_fault(two, plan_at({5, 0}, 15)) == "");
}

TEST_CASE("an overlap of one byte is found") {
  CHECK(first_fault(two, plan_at({0, 9}, 14)) ==
        "block 0 at [0, 10) and block 1 at [9, 14) share bytes while both are alive");
}

TEST_CASE("an overlap of one step is found, and none where lifetimes only touch") {
  CHECK(first_fault(blocks_of({{0, 3, 8}, {2, 4, 8}}), plan_at({0, 0}, 8)) != "");
  CHECK(first_fault(blocks_of({{0, 3, 8}, {3, 4, 8}}), plan_at({0, 0}, 8)) == "");
}

TEST_CASE("a block inside another one is found") {
  CHECK(first_fault(blocks_of({{0, 9, 100}, {4, 5, 1}}), plan_at({0, 50}, 100)) != "");
}

TEST_CASE("every overlapping newcomer is reported") {
  const std::vector<Block> blocks = blocks_of({{0, 9, 10}, {1, 9, 10}, {2, 9, 10}});
  CHECK(check_memory_plan(blocks, plan_at({0, 0, 0}, 10)).size() == 2);
}

TEST_CASE("misalignment is found, the block's own and the plan's") {
  std::vector<Block> blocks = two;
  blocks[1].alignment = 4;
  CHECK(first_fault(blocks, plan_at({0, 10}, 15)) == "block 1 lies at 10, which is no multiple of its alignment 4");
  CHECK(first_fault(two, plan_at({0, 12}, 17), {.alignment = 8}) ==
        "block 1 lies at 12, which is no multiple of its alignment 8");
}

TEST_CASE("a plan over the capacity or over an arena's limit is found") {
  CHECK(first_fault(two, plan_at({0, 10}, 15), {.capacity = 14}) == "the height 15 is over the capacity 14");
  CHECK(first_fault(two, plan_at({0, 10}, 15), {.arena_limit = 14}) == "arena 0 has 15 bytes; the limit is 14");
}

TEST_CASE("a missing block and one too many are found") {
  CHECK(first_fault(two, plan_at({0}, 10)) == "the plan has 1 offsets for 2 blocks");
  CHECK(first_fault(two, plan_at({0, 10, 20}, 15)) == "the plan has 3 offsets for 2 blocks");
}

TEST_CASE("a moved fixed block and a negative offset are found") {
  std::vector<Block> blocks = two;
  blocks[0].fixed_offset = 64;
  CHECK(first_fault(blocks, plan_at({0, 10}, 15)) == "block 0 is fixed at 64 but lies at 0");
  CHECK(first_fault(two, plan_at({-1, 10}, 15)) == "block 0 has the negative offset -1");
}

TEST_CASE("a wrong height, a wrong bound and a wrong claim are found") {
  CHECK(first_fault(two, plan_at({0, 10}, 16)) == "arena 0 is said to have 16 bytes, but its blocks reach to 15");
  MemoryPlan plan = plan_at({0, 10}, 15);
  plan.bound = 16;
  CHECK(first_fault(two, plan) == "the height 15 is below the bound 16, so the bound is wrong");
  plan.bound = 14;
  plan.proven_optimal = true;
  CHECK(first_fault(two, plan) == "the plan claims to be optimal at 15 with a bound of 14");
}

TEST_CASE("blocks in different arenas do not collide, blocks in one do") {
  MemoryPlan plan = plan_at({0, 0}, 15);
  plan.arenas = {0, 1};
  plan.arena_heights = {10, 5};
  CHECK(first_fault(two, plan) == "");
  plan.arenas = {1, 1};
  CHECK(first_fault(two, plan) != "");
  plan.arenas = {0, 7};
  CHECK(first_fault(two, plan) == "block 1 lies in arena 7, which does not exist");
}

TEST_CASE("under a precedence blocks that never meet in time still collide unless one comes before the other") {
  const std::vector<Block> blocks = blocks_of({{0, 1, 8}, {1, 2, 8}});
  auto precedence = std::make_shared<Precedence>(2);
  CHECK(first_fault(blocks, plan_at({0, 0}, 8), {.precedence = precedence}) != "");
  precedence->set_precedes(0, 1);
  CHECK(first_fault(blocks, plan_at({0, 0}, 8), {.precedence = precedence}) == "");
}
