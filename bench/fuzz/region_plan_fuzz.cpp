// SPDX-License-Identifier: MIT
// Open-ended fuzzing of plans with holes: random nests of loops and branches, planned and then run on token memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/memory/region_programs.hpp"

using namespace tyto;
using memory_tests::Bodies;
using memory_tests::RegionProgram;

namespace {

constexpr char usage[] = "usage: region_plan_fuzz [PROGRAMS [SEED [DEPTH [TRACES]]]]\n";
// All strategies take the time of hundreds of plans.
constexpr std::int64_t programs_per_full_set = 25;

struct Ratios {
  double logarithms = 0;
  double worst = 1;
  std::int64_t count = 0;
  std::int64_t at_bound = 0;

  void add(std::int64_t height, std::int64_t bound) {
    const double ratio = static_cast<double>(height) / static_cast<double>(bound);
    logarithms += std::log(ratio);
    worst = std::max(worst, ratio);
    at_bound += height == bound ? 1 : 0;
    ++count;
  }
  void print(const char* what) const {
    std::printf("  %-28s geometric mean %.4f, worst %.3f, at the bound %.1f %%\n", what,
                std::exp(logarithms / static_cast<double>(count)), worst,
                100.0 * static_cast<double>(at_bound) / static_cast<double>(count));
  }
};

std::int64_t faults = 0;

MemoryPlan judged(const RegionProgram& program, const std::vector<Block>& blocks, const PlanOptions& options,
                  std::int64_t which, int traces) {
  MemoryPlan plan = plan_memory(blocks, options);
  const auto complain = [&](const std::string& what) {
    ++faults;
    std::printf("program %lld, %s: %s\n", static_cast<long long>(which), plan.strategy.c_str(), what.c_str());
  };
  for (const std::string& fault : check_memory_plan(blocks, plan, options)) complain(fault);
  const std::string wrong = program.judge(plan.offsets, traces, static_cast<std::uint64_t>(which));
  if (!wrong.empty()) complain(wrong);
  return plan;
}

void fuzz(Bodies bodies, std::int64_t programs, std::uint64_t seed, int depth, int traces) {
  Ratios best;
  Ratios greedy;
  Ratios hull;
  std::size_t steps = 0;
  std::size_t storages = 0;
  for (std::int64_t which = 0; which < programs; ++which) {
    const RegionProgram program(seed * 1'000'003 + static_cast<std::uint64_t>(which), depth, bodies);
    steps += program.steps();
    storages += program.blocks().size();
    const std::int64_t bound = program.load();
    if (memory_bound(program.blocks()) != bound) {
      ++faults;
      std::printf("program %lld: the bound is %lld, but %lld bytes are alive at one step\n",
                  static_cast<long long>(which), static_cast<long long>(memory_bound(program.blocks())),
                  static_cast<long long>(bound));
    }
    best.add(judged(program, program.blocks(), {.threads = 1}, which, traces).height, bound);
    std::int64_t lowest = INT64_MAX;
    for (const char* name : {"greedy_by_size", "greedy_by_area", "greedy_by_load", "greedy_by_breadth"}) {
      lowest = std::min(lowest, judged(program, program.blocks(), {.strategy = name}, which, traces).height);
    }
    greedy.add(lowest, bound);
    std::vector<Block> whole = program.blocks();
    for (Block& block : whole) block.spans = {};
    hull.add(judged(program, whole, {.threads = 1}, which, traces).height, bound);
    if (which % programs_per_full_set != 0) continue;
    for (const MemoryStrategy& strategy : memory_strategies()) {
      if (!strategy.available || strategy.name == "mip") continue;
      judged(program, program.blocks(), {.strategy = std::string(strategy.name), .work = 1'000'000, .threads = 1},
             which, traces);
    }
  }
  std::printf("%lld programs, %s: %.1f steps and %.1f storages each; %lld faults\n", static_cast<long long>(programs),
              bodies == Bodies::once ? "bodies once" : "a body for each phase",
              static_cast<double>(steps) / static_cast<double>(programs),
              static_cast<double>(storages) / static_cast<double>(programs), static_cast<long long>(faults));
  best.print("best, holes used");
  greedy.print("lowest of four greedy");
  hull.print("best, lifetimes without holes");
}

}  // namespace

int main(int count, char** words) {
  if (count > 5 || (count > 1 && words[1][0] == '-')) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::int64_t programs = std::max<std::int64_t>(count > 1 ? std::atoll(words[1]) : 1000, 1);
  const auto seed = static_cast<std::uint64_t>(count > 2 ? std::atoll(words[2]) : 1);
  const int depth = count > 3 ? std::atoi(words[3]) : 2;
  const int traces = count > 4 ? std::atoi(words[4]) : 60;
  for (const Bodies bodies : {Bodies::once, Bodies::each_phase}) fuzz(bodies, programs, seed, depth, traces);
  return faults == 0 ? 0 : 1;
}
