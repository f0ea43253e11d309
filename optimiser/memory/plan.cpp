// SPDX-License-Identifier: MIT
// plan_memory: chooses the strategy and its effort, checks its result against the capacity, and describes the plan.
#include "optimiser/memory/plan.hpp"
#include "core/value/text.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "optimiser/memory/arenas.hpp"
#include "optimiser/memory/bound.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

constexpr std::size_t most_consumers = 8;

const Strategy& strategy_named(const std::string& name) {
  for (const Strategy& strategy : strategies()) {
    if (strategy.name != name) continue;
    if (strategy.available()) return strategy;
    core::throw_error<ValueError>("plan_memory: strategy `", name,
                                  "` needs the solver Cbc, and this library was built without it (Debian and Ubuntu: "
                                  "coinor-libcbc-dev); `exact` needs nothing");
  }
  std::string known;
  for (const Strategy& strategy : strategies()) known += (known.empty() ? "" : ", ") + std::string(strategy.name);
  core::throw_error<ValueError>("plan_memory: no strategy `", name, "`; there are ", known);
}

Effort effort_of(const PlanOptions& options, const Problem& problem, Clock::time_point start) {
  if (options.time_limit_ms < 0 || options.work < 0) {
    throw ValueError("plan_memory: neither the time limit nor the work can be negative");
  }
  Effort effort;
  effort.work = options.work;
  effort.seed = options.seed;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  effort.threads = options.threads > 0 ? options.threads : std::clamp(cores, 1, 8);
  if (options.time_limit_ms > 0) {
    // An hour is as good as no limit, and far from where the clock's own type ends.
    const double milliseconds = std::min(options.time_limit_ms, 3.6e6);
    effort.deadline = start + std::chrono::microseconds(static_cast<std::int64_t>(milliseconds * 1000));
  }
  effort.enough = problem.bound;
  if (options.capacity) effort.enough = std::max(effort.enough, *options.capacity / problem.unit);
  return effort;
}

void hold_against_capacity(const MemoryPlan& plan, const PlanOptions& options) {
  if (!options.capacity || plan.height <= *options.capacity) return;
  std::string message = "plan_memory: the capacity of " + std::to_string(*options.capacity) + " bytes is too small: ";
  if (plan.bound > *options.capacity) {
    message += "every plan needs at least " + std::to_string(plan.bound) + " bytes";
  } else {
    message += plan.strategy + " found a plan of " + std::to_string(plan.height) + " bytes; none needs less than " +
               std::to_string(plan.bound);
  }
  throw DeviceError(message);
}

}  // namespace

void describe_peak(std::span<const Block> blocks, MemoryPlan& plan) {
  plan.naive = 0;
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].size == 0 || blocks[i].lower == blocks[i].upper) continue;
    plan.naive += blocks[i].size;
    alive.push_back(i);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> events;  // (step, change), ends first as they are negative
  for (const std::size_t i : alive) {
    for_each_span(blocks[i], [&](std::int64_t lower, std::int64_t upper) {
      events.emplace_back(lower, blocks[i].size);
      events.emplace_back(upper, -blocks[i].size);
    });
  }
  std::sort(events.begin(), events.end());
  std::int64_t load = 0;
  std::int64_t highest = 0;
  for (const auto& [step, change] : events) {
    load += change;
    if (load <= highest) continue;
    highest = load;
    plan.peak_step = step;
  }
  std::erase_if(alive, [&](std::size_t i) {
    bool lives = false;
    for_each_span(blocks[i], [&](std::int64_t lower, std::int64_t upper) {
      lives = lives || (lower <= plan.peak_step && plan.peak_step < upper);
    });
    return !lives;
  });
  std::stable_sort(alive.begin(), alive.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
  if (alive.size() > most_consumers) alive.resize(most_consumers);
  for (const std::size_t i : alive) {
    const Block& block = blocks[i];
    plan.top_at_peak.push_back(
        {block.label.empty() ? "block " + std::to_string(block.id) : std::string(block.label), block.size});
  }
}

std::int64_t worth_of_graph(std::size_t blocks) {
  return std::min<std::int64_t>(least_work + 20'000 * static_cast<std::int64_t>(blocks), 500'000'000);
}

MemoryPlan describe(std::span<const Block> blocks, const Problem& problem, const Placement& placement) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) plan.offsets[i] = blocks[i].fixed_offset.value_or(0);
  for (std::size_t i = 0; i < placement.offsets.size(); ++i) {
    plan.offsets[static_cast<std::size_t>(problem.input[i])] = placement.offsets[i] * problem.unit;
  }
  plan.height = placement.height * problem.unit;
  plan.arena_heights = {plan.height};
  plan.bound = std::max(problem.bound, placement.proven_bound) * problem.unit;
  plan.proven_optimal = plan.height == plan.bound;
  describe_peak(blocks, plan);
  return plan;
}

MemoryPlan plan_worth(std::span<const Block> blocks, const PlanOptions& options, std::int64_t work_per_byte) {
  const auto start = Clock::now();
  const Strategy& strategy = strategy_named(options.strategy);
  Problem problem = make_problem(blocks, options);
  if (strategy.uses_neighbours) problem = with_neighbours(std::move(problem));
  Effort effort = effort_of(options, problem, start);
  effort.work_per_unit = work_per_byte * problem.unit;
  if (options.capacity && problem.bound * problem.unit > *options.capacity) {
    MemoryPlan impossible;
    impossible.bound = impossible.height = problem.bound * problem.unit;
    hold_against_capacity(impossible, options);
  }
  Placement placement;
  if (problem.count() == 0) {
    placement.height = 0;
  } else {
    placement = place_with(strategy, problem, effort);
  }
  MemoryPlan plan = describe(blocks, problem, placement);
  if (options.arena_limit) split_into_arenas(blocks, problem, effort, strategy, *options.arena_limit, plan);
  plan.strategy = std::string(strategy.name);
  if (!placement.remark.empty()) plan.strategy += " (" + placement.remark + ")";
  hold_against_capacity(plan, options);
#ifndef NDEBUG
  const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
  if (!faults.empty())
    core::throw_error<Error>("plan_memory: ", plan.strategy, " made an invalid plan: ", faults.front());
#endif
  plan.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return plan;
}

}  // namespace tyto::memory

namespace tyto TYTO_API {

MemoryPlan plan_memory(std::span<const Block> blocks, const PlanOptions& options) {
  return memory::plan_worth(blocks, options, 0);
}

std::span<const MemoryStrategy> memory_strategies() {
  static const std::vector<MemoryStrategy> table = [] {
    std::vector<MemoryStrategy> rows;
    for (const memory::Strategy& strategy : memory::strategies()) {
      rows.push_back({strategy.name, strategy.summary, strategy.available()});
    }
    return rows;
  }();
  return table;
}

std::int64_t memory_bound(std::span<const Block> blocks, const PlanOptions& options) {
  const memory::Problem problem = memory::make_problem(blocks, options);
  return problem.bound * problem.unit;
}

}  // namespace TYTO_API
