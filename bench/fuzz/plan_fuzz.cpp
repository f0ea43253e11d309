// SPDX-License-Identifier: MIT
// Open-ended fuzzing of the memory planners: random blocks through every strategy and the checker, small ones against
// brute force.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/memory/oracle.hpp"

using namespace tyto;

namespace {

constexpr char usage[] = "usage: plan_fuzz [SETS [SMALL_SETS [SEED]]]\n";

// Prints blocks as the CSV that `tyto plan` reads, so that a failure can be taken up from there.
void print_blocks(const std::vector<Block>& blocks) {
  std::printf("id,lower,upper,size,alignment,offset,spans\n");
  for (const Block& b : blocks) {
    std::printf("%lld,%lld,%lld,%lld,%lld,", static_cast<long long>(b.id), static_cast<long long>(b.lower),
                static_cast<long long>(b.upper), static_cast<long long>(b.size), static_cast<long long>(b.alignment));
    if (b.fixed_offset) std::printf("%lld", static_cast<long long>(*b.fixed_offset));
    const char* before = ",";
    if (b.spans.empty()) std::printf("%s", before);
    for (const Span& span : b.spans) {
      std::printf("%s%lld-%lld", before, static_cast<long long>(span.lower), static_cast<long long>(span.upper));
      before = ";";
    }
    std::printf("\n");
  }
}

bool holds(const std::vector<Block>& blocks, const PlanOptions& options, MemoryPlan& plan) {
  plan = plan_memory(blocks, options);
  const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
  if (faults.empty()) return true;
  std::printf("%s: %s\n", options.strategy.c_str(), faults.front().c_str());
  print_blocks(blocks);
  return false;
}

memory_tests::RandomBlocks shape_of(std::mt19937_64& random, int most_blocks) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  return {.most_blocks = most_blocks,
          .steps = static_cast<int>(2 + random() % 30),
          .largest = std::int64_t{1} << (1 + random() % 20),
          .alignments = one_in(3),
          .fixed = one_in(4),
          .empty = one_in(4)};
}

// Every strategy on random blocks; in every fourth set under a random precedence, in every sixth over several arenas,
// in every second with holes in their lifetimes.
bool fuzz_strategies(std::int64_t sets, std::mt19937_64& random) {
  std::int64_t plans = 0;
  for (std::int64_t set = 0; set < sets; ++set) {
    const int most_blocks = set % 50 == 0 ? 80 : 20;
    memory_tests::RandomBlocks shape = shape_of(random, most_blocks);
    // Blocks are fixed where lifetimes leave room; under a precedence more of them would collide.
    shape.fixed = shape.fixed && set % 4 != 3;
    std::vector<Block> blocks = memory_tests::random_blocks(random, shape);
    std::vector<std::vector<Span>> lifetimes;
    if (set % 2 == 0) lifetimes = memory_tests::make_holes(random, blocks);
    PlanOptions options{.work = 20'000, .seed = static_cast<std::uint64_t>(set), .threads = 1};
    if (set % 4 == 3)
      options.precedence = std::make_shared<Precedence>(memory_tests::random_precedence(random, blocks));
    if (set % 6 == 5) {
      std::int64_t largest = 1;
      for (const Block& b : blocks) largest = std::max(largest, b.size + b.fixed_offset.value_or(0));
      options.arena_limit = 2 * largest;
    }
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || (strategy.name == "mip" && set % 500 != 0)) continue;
      options.strategy = strategy.name;
      MemoryPlan plan;
      if (!holds(blocks, options, plan)) return false;
      ++plans;
    }
  }
  std::printf("%lld sets, %lld plans: all valid\n", static_cast<long long>(sets), static_cast<long long>(plans));
  return true;
}

bool fuzz_exact(std::int64_t sets, std::mt19937_64& random) {
  std::int64_t above_bound = 0;
  for (std::int64_t set = 0; set < sets; ++set) {
    memory_tests::RandomBlocks shape = shape_of(random, 8);
    shape.largest = static_cast<std::int64_t>(1 + random() % 40);
    shape.steps = static_cast<int>(2 + random() % 8);
    shape.fixed = shape.fixed && set % 5 != 4;
    std::vector<Block> blocks = memory_tests::random_blocks(random, shape);
    std::vector<std::vector<Span>> lifetimes;
    if (set % 2 == 0) lifetimes = memory_tests::make_holes(random, blocks);
    PlanOptions options{.strategy = "exact", .threads = 1};
    if (set % 5 == 4)
      options.precedence = std::make_shared<Precedence>(memory_tests::random_precedence(random, blocks));
    MemoryPlan plan;
    if (!holds(blocks, options, plan)) return false;
    const std::int64_t lowest = memory_tests::lowest_height(blocks, options);
    if (plan.height != lowest || !plan.proven_optimal) {
      std::printf("exact found %lld%s, brute force %lld\n", static_cast<long long>(plan.height),
                  plan.proven_optimal ? "" : " without a proof", static_cast<long long>(lowest));
      print_blocks(blocks);
      return false;
    }
    above_bound += memory_bound(blocks, options) < lowest ? 1 : 0;
  }
  std::printf("%lld sets of at most 8 blocks: exact equals brute force; %lld optima lie above the bound\n",
              static_cast<long long>(sets), static_cast<long long>(above_bound));
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count > 4 || (count > 1 && words[1][0] == '-')) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::int64_t sets = count > 1 ? std::atoll(words[1]) : 100'000;
  const std::int64_t small_sets = count > 2 ? std::atoll(words[2]) : 2'000;
  std::mt19937_64 random(count > 3 ? static_cast<std::uint64_t>(std::atoll(words[3])) : 1);
  return fuzz_strategies(sets, random) && fuzz_exact(small_sets, random) ? 0 : 1;
}
