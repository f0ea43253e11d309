// SPDX-License-Identifier: MIT
// plan_memory: arguments that it accepts and refuses, its options, its bound, and that it is deterministic.
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "optimiser/memory/plan.hpp"
#include "tests/memory/oracle.hpp"

using namespace tyto;
using memory_tests::blocks_of;

namespace {

constexpr std::int64_t two_to_62 = std::int64_t{1} << 62;

const std::vector<Block> stack = blocks_of({{0, 4, 30}, {1, 3, 20}, {2, 4, 10}});

std::vector<Block> three_hard() {
  std::mt19937_64 random(11);
  return memory_tests::random_blocks(random, {.most_blocks = 60, .steps = 40, .largest = 1000});
}

}  // namespace

TEST_CASE("plan_memory refuses invalid blocks and options by name and value") {
  const auto plan_one = [](Block block) { plan_memory(std::vector{block}); };
  CHECK_THROWS_WITH_AS(plan_one({.id = 7, .lower = 0, .upper = 1, .size = -1}),
                       "plan_memory: block 7 has size -1; sizes are not negative", ValueError);
  CHECK_THROWS_WITH_AS(plan_one({.id = 7, .lower = 3, .upper = 2, .size = 1}),
                       "plan_memory: block 7 lives from 3 to 2; upper (exclusive) is at least lower", ValueError);
  CHECK_THROWS_WITH_AS(plan_one({.id = 7, .lower = 0, .upper = 1, .size = 1, .alignment = 0}),
                       "plan_memory: block 7 has alignment 0; alignments are at least 1", ValueError);
  CHECK_THROWS_WITH_AS(plan_one({.id = 7, .lower = 0, .upper = 1, .size = 1, .fixed_offset = -4}),
                       "plan_memory: block 7 is fixed at offset -4; offsets are not negative", ValueError);
  CHECK_THROWS_WITH_AS(plan_one({.id = 7, .lower = 0, .upper = 1, .size = 1, .alignment = 8, .fixed_offset = 4}),
                       "plan_memory: block 7 is fixed at offset 4, which is no multiple of its alignment 8",
                       ValueError);
  CHECK_THROWS_WITH_AS(plan_memory(stack, {.alignment = 0}), "plan_memory: alignment is 0; it is at least 1",
                       ValueError);
  CHECK_THROWS_AS(plan_memory(stack, {.work = -1}), ValueError);
}

TEST_CASE("a lower plan is searched for as long as the bytes that it can save are worth") {
  std::mt19937_64 random(5);
  const std::vector<Block> blocks =
      memory_tests::random_blocks(random, {.most_blocks = 3000, .steps = 300, .largest = 1000});
  const PlanOptions options{.work = 200'000'000};
  const MemoryPlan searched = plan_memory(blocks, options);
  const MemoryPlan dear = memory::plan_worth(blocks, options, 2'000'000'000);
  CHECK(dear.offsets == searched.offsets);
  const MemoryPlan cheap = memory::plan_worth(blocks, options, 1);
  CHECK(check_memory_plan(blocks, cheap, options).empty());
  CHECK(cheap.height >= searched.height);
  CHECK(cheap.bound <= searched.height);
  CHECK(cheap.strategy != searched.strategy);  // sweeps alone
}

TEST_CASE("fixed blocks that collide are refused") {
  std::vector<Block> blocks = blocks_of({{0, 2, 8}, {1, 3, 8}});
  blocks[0].fixed_offset = 0;
  blocks[1].fixed_offset = 4;
  CHECK_THROWS_WITH_AS(plan_memory(blocks),
                       "plan_memory: block 0 is fixed where block 1 is fixed as well, and both are alive at one time",
                       ValueError);
}

TEST_CASE("sizes near 2^62 give an overflow error under every strategy, sizes of 2^40 a plan") {
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available) continue;
    const PlanOptions options{.strategy = std::string(strategy.name)};
    CAPTURE(strategy.name);
    for (const std::int64_t size : {two_to_62 - 1, two_to_62, two_to_62 + 1, std::int64_t{0x7fffffffffffffff}}) {
      CHECK_THROWS_WITH_AS(plan_memory(blocks_of({{0, 1, size}, {0, 1, size}}), options), doctest::Contains("overflow"),
                           ValueError);
      CHECK_THROWS_WITH_AS(plan_memory(blocks_of({{0, 1, size}}), options), doctest::Contains("overflow"), ValueError);
    }
    const std::int64_t tera = std::int64_t{1} << 40;
    const MemoryPlan plan = plan_memory(blocks_of({{0, 2, tera}, {1, 3, tera + 1}, {2, 4, tera - 1}}), options);
    CHECK(check_memory_plan(blocks_of({{0, 2, tera}, {1, 3, tera + 1}, {2, 4, tera - 1}}), plan).empty());
    CHECK(plan.bound == 2 * tera + 1);
  }
}

TEST_CASE("the extremes of time are times like others") {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available || strategy.name == "bump") continue;
    CAPTURE(strategy.name);
    const MemoryPlan plan = plan_memory(blocks_of({{least, 0, 5}, {0, most, 5}, {least, most, 1}}),
                                        {.strategy = std::string(strategy.name)});
    CHECK(plan.height == 6);
  }
}

TEST_CASE("the bound is the largest load") { CHECK(memory_bound(stack) == 60); }

TEST_CASE("the bound counts the padding that alignment makes inevitable") {
  // Two blocks of 10 at multiples of 8: the second one starts at 16 at the lowest.
  std::vector<Block> blocks = blocks_of({{0, 1, 10}, {0, 1, 10}});
  for (Block& block : blocks) block.alignment = 8;
  CHECK(memory_bound(blocks) == 26);
  CHECK(plan_memory(blocks).height == 26);
  CHECK(plan_memory(blocks).proven_optimal);
}

TEST_CASE("alignment of the plan holds for every block") {
  const MemoryPlan plan = plan_memory(stack, {.alignment = 64});
  for (const std::int64_t offset : plan.offsets) CHECK(offset % 64 == 0);
  CHECK(plan.height == 64 + 64 + 10);
}

TEST_CASE("mixed alignments are kept by every strategy") {
  std::vector<Block> blocks = blocks_of({{0, 4, 3}, {0, 4, 5}, {1, 3, 7}, {2, 4, 1}, {3, 6, 9}});
  const std::int64_t alignments[] = {1, 16, 4, 12, 8};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].alignment = alignments[i];
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available) continue;
    CAPTURE(strategy.name);
    CHECK(check_memory_plan(blocks, plan_memory(blocks, {.strategy = std::string(strategy.name)})).empty());
  }
  CHECK(plan_memory(blocks, {.strategy = "exact"}).height == memory_tests::lowest_height(blocks));
}

TEST_CASE("fixed blocks stay, and others may lie below them") {
  std::vector<Block> blocks = blocks_of({{0, 4, 10}, {0, 4, 20}, {0, 4, 5}});
  blocks[0].fixed_offset = 20;
  for (const char* strategy : {"linear_scan", "greedy_by_size", "exact", "best"}) {
    CAPTURE(strategy);
    const MemoryPlan plan = plan_memory(blocks, {.strategy = strategy});
    CHECK(plan.offsets == std::vector<std::int64_t>{20, 0, 30});
  }
}

TEST_CASE("a capacity below the bound is refused at once, one between bound and plan after the search") {
  CHECK_THROWS_WITH_AS(plan_memory(stack, {.capacity = 59}),
                       "plan_memory: the capacity of 59 bytes is too small: every plan needs at least 60 bytes",
                       DeviceError);
  CHECK_THROWS_WITH_AS(plan_memory(stack, {.strategy = "bump", .capacity = 59}), doctest::Contains("at least 60"),
                       DeviceError);
  CHECK(plan_memory(stack, {.capacity = 60}).height == 60);
  const std::vector<Block> chain = blocks_of({{0, 1, 8}, {1, 2, 8}});
  CHECK_THROWS_WITH_AS(
      plan_memory(chain, {.strategy = "bump", .capacity = 15}),
      "plan_memory: the capacity of 15 bytes is too small: bump found a plan of 16 bytes; none needs less than 8",
      DeviceError);
}

TEST_CASE("an arena limit gives several arenas, none of them larger") {
  const std::vector<Block> blocks = blocks_of({{0, 4, 30}, {0, 4, 30}, {0, 4, 30}, {2, 6, 25}, {4, 8, 30}});
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available) continue;
    CAPTURE(strategy.name);
    const PlanOptions options{.strategy = std::string(strategy.name), .arena_limit = 64};
    const MemoryPlan plan = plan_memory(blocks, options);
    CHECK(check_memory_plan(blocks, plan, options).empty());
    CHECK(plan.arena_heights.size() == 2);
  }
  // In an arena of its own the second block needs no padding below it.
  std::vector<Block> aligned = blocks_of({{0, 1, 9}, {0, 1, 9}});
  for (Block& block : aligned) block.alignment = 8;
  CHECK(plan_memory(aligned).height == 25);
  CHECK(plan_memory(aligned, {.arena_limit = 24}).height == 18);
  CHECK(plan_memory(aligned, {.arena_limit = 24}).bound == 18);
  CHECK_THROWS_WITH_AS(plan_memory(blocks, {.arena_limit = 29}),
                       "plan_memory: block 0 reaches to byte 30, but no arena may have more than 29", ValueError);
  CHECK(plan_memory(blocks, {.arena_limit = 1000}).arenas.empty());
}

TEST_CASE("the same request gives the same plan, whatever the number of threads") {
  const std::vector<Block> blocks = three_hard();
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available || strategy.name == "mip") continue;
    CAPTURE(strategy.name);
    const PlanOptions one{.strategy = std::string(strategy.name), .work = 3'000'000, .threads = 1};
    PlanOptions three = one;
    three.threads = 3;
    const MemoryPlan first = plan_memory(blocks, one);
    CHECK(plan_memory(blocks, one).offsets == first.offsets);
    CHECK(plan_memory(blocks, three).offsets == first.offsets);
  }
}

TEST_CASE("the progress of stopped searches does not change the plan") {
  for (const std::uint64_t seed : {29, 44, 45, 60}) {
    std::mt19937_64 random(seed);
    const std::vector<Block> blocks =
        memory_tests::random_blocks(random, {.most_blocks = 160, .steps = 50, .largest = 1000});
    PlanOptions options{.strategy = "exact", .work = 3'000'000, .threads = 1};
    const MemoryPlan alone = plan_memory(blocks, options);
    for (int round = 0; round < 21; ++round) {
      options.threads = 2 + round % 7;
      CAPTURE(options.threads);
      CHECK((plan_memory(blocks, options).offsets == alone.offsets));
    }
  }
}

TEST_CASE("the seed changes what is drawn, not what is valid") {
  const std::vector<Block> blocks = three_hard();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const PlanOptions options{.strategy = "anneal", .work = 500'000, .seed = seed};
    CHECK(check_memory_plan(blocks, plan_memory(blocks, options), options).empty());
  }
}

TEST_CASE("a plan states its naive sum, the step of its peak and the largest blocks there by label") {
  std::vector<Block> blocks = stack;
  blocks[0].label = "weights";
  const MemoryPlan plan = plan_memory(blocks);
  CHECK(plan.naive == 60);
  CHECK(plan.peak_step == 2);
  REQUIRE(plan.top_at_peak.size() == 3);
  CHECK(plan.top_at_peak[0].label == "weights");
  CHECK(plan.top_at_peak[0].size == 30);
  CHECK(plan.top_at_peak[1].label == "block 1");
  std::ostringstream text;
  text << plan;
  CHECK(text.str().starts_with("memory plan: 60 bytes (60 B), by best ("));
  CHECK(text.str().find("lower bound 60 bytes, ratio 1.000, proven optimal\n") != std::string::npos);
  CHECK(text.str().find("    30 B  weights\n") != std::string::npos);
}

TEST_CASE("the heap map draws one rectangle a block and escapes labels") {
  std::vector<Block> blocks = stack;
  blocks[1].label = "a<b & \"c\"";
  const std::string svg = memory_map_svg(blocks, plan_memory(blocks));
  CHECK(svg.starts_with("<svg xmlns"));
  CHECK(svg.find("a&lt;b &amp; &quot;c&quot;: 20 bytes at ") != std::string::npos);
  CHECK(svg.find("a<b") == std::string::npos);
  std::size_t rectangles = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++rectangles;
  CHECK(rectangles == 1 + blocks.size());  // and the ground
  CHECK_THROWS_AS(memory_map_svg(blocks, MemoryPlan{}), ValueError);
}

TEST_CASE("a hundred thousand blocks are planned close to the bound, by one thread as by two") {
  std::mt19937_64 random(5);
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const auto lower = static_cast<std::int64_t>(random() % 100'000);
    const auto lifetime = static_cast<std::int64_t>(1 + random() % 50'000);
    blocks.push_back(
        {.id = i, .lower = lower, .upper = lower + lifetime, .size = static_cast<std::int64_t>(1 + random() % 4096)});
  }
  const MemoryPlan plan = plan_memory(blocks, {.threads = 2});
  CHECK(check_memory_plan(blocks, plan).empty());
  CHECK(plan.ratio() < 1.03);
  CHECK(plan_memory(blocks, {.threads = 1}).offsets == plan.offsets);
}
