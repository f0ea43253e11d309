// SPDX-License-Identifier: MIT
// tyto plan: reads blocks from a CSV file, plans their memory, and prints or writes the plan.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tyto/memory.hpp>

#include "cli/block_csv.hpp"
#include "cli/commands.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow plan_options[] = {
    {"--strategy", "NAME|all", "a planning strategy, or every one of them (best); --list names them"},
    {"--budget-ms", "N", "stop searching after N milliseconds"},
    {"--work", "N", "or after N elementary operations, which is repeatable"},
    {"--capacity", "BYTES", "fail if no plan fits; stop at the first that does"},
    {"--arena-limit", "BYTES", "use several arenas, none larger"},
    {"--alignment", "BYTES", "align every block to this as well"},
    {"--seed", "N", "of the strategies that draw random numbers (1)"},
    {"--threads", "N", "threads to search with; the plan does not depend on it"},
    {"--out", "SOLUTION.csv", "write the offsets"},
    {"--svg", "MAP.svg", "draw the plan: time to the right, addresses upwards"},
    {"--json", "", "print one JSON object a plan and nothing else"},
    {"--list", "", "list the strategies"},
};

void list_strategies() {
  for (const MemoryStrategy& strategy : memory_strategies()) {
    std::string name(strategy.name);
    name.resize(std::max<std::size_t>(name.size() + 2, 28), ' ');
    std::cout << name << strategy.summary << (strategy.available ? "" : " (not built in)") << "\n";
  }
}

BlockFile read_file(const std::string& path) {
  require_file(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw_error<IoError>(path, ": cannot be opened for reading");
  BlockFile file = read_blocks(in, path);
  if (in.bad()) throw_error<IoError>(path, ": cannot be read to its end");
  return file;
}

template <typename Write>
void write_file(const std::string& path, Write&& write) {
  std::ofstream out(path, std::ios::binary);
  if (!out) throw_error<IoError>(path, ": cannot be opened for writing");
  write(out);
  out.close();
  if (!out) throw_error<IoError>(path, ": cannot be written");
}

nlohmann::ordered_json as_json(const MemoryPlan& plan, std::string_view strategy) {
  return {{"strategy", strategy},
          {"height", plan.height},
          {"bound", plan.bound},
          {"ratio", plan.ratio()},
          {"proven_optimal", plan.proven_optimal},
          {"milliseconds", plan.milliseconds}};
}

void check(const BlockFile& file, const MemoryPlan& plan, const PlanOptions& asked) {
  const std::vector<std::string> faults = check_memory_plan(file.blocks, plan, asked);
  if (!faults.empty()) throw_error<Error>("the checker refuses the plan of ", plan.strategy, ": ", faults.front());
}

// All strategies: a table, or one JSON object a line; the best plan is the one that is written. A strategy that cannot
// take the instance says so in its row.
MemoryPlan plan_with_all(const BlockFile& file, PlanOptions asked, bool json) {
  MemoryPlan best;
  bool any = false;
  std::string last_refusal;
  if (!json) std::printf("%-28s %20s %8s %12s  %s\n", "strategy", "height", "ratio", "ms", "");
  for (const MemoryStrategy& strategy : memory_strategies()) {
    if (!strategy.available) continue;
    asked.strategy = strategy.name;
    try {
      MemoryPlan plan = plan_memory(file.blocks, asked);
      check(file, plan, asked);
      if (json) {
        std::printf("%s\n", as_json(plan, strategy.name).dump().c_str());
      } else {
        std::printf("%-28s %20lld %8.4f %12.3f  %s\n", asked.strategy.c_str(), static_cast<long long>(plan.height),
                    plan.ratio(), plan.milliseconds, plan.proven_optimal ? "optimal" : "");
      }
      if (!any || plan.height < best.height) best = std::move(plan);
      any = true;
    } catch (const DeviceError& error) {
      last_refusal = error.what();
      if (!json) std::printf("%-28s %s\n", asked.strategy.c_str(), "over the capacity");
    } catch (const ValueError& error) {
      // Invalid blocks fail for bump as well, which comes first and accepts all valid ones.
      if (!any && last_refusal.empty()) throw;
      if (!json) std::printf("%-28s %s\n", asked.strategy.c_str(), error.what());
    }
  }
  if (!any) throw DeviceError(last_refusal);
  return best;
}

int run_plan(const Arguments& arguments) {
  if (arguments.has("--list")) {
    list_strategies();
    return done;
  }
  const std::string& blocks = arguments.only_operand("plan takes one file");
  if (blocks.ends_with(".onnx")) {
    throw_error<UsageError>("plan takes blocks in a CSV file; for a model: tyto run ", blocks, " --plan");
  }
  PlanOptions asked;
  asked.strategy = arguments.text("--strategy").value_or("best");
  asked.time_limit_ms = static_cast<double>(arguments.number("--budget-ms", 1).value_or(0));
  asked.work = arguments.number("--work", 1).value_or(0);
  asked.capacity = arguments.number("--capacity", 0);
  asked.arena_limit = arguments.number("--arena-limit", 1);
  asked.alignment = arguments.number("--alignment", 1).value_or(1);
  asked.seed = static_cast<std::uint64_t>(arguments.number("--seed", 0).value_or(1));
  asked.threads = static_cast<int>(arguments.number("--threads", 1, most_threads).value_or(0));
  const bool json = arguments.has("--json");

  const BlockFile file = read_file(blocks);
  MemoryPlan plan;
  if (asked.strategy == "all") {
    plan = plan_with_all(file, asked, json);
  } else {
    plan = plan_memory(file.blocks, asked);
    check(file, plan, asked);
    if (json) {
      std::cout << as_json(plan, asked.strategy).dump() << "\n";
    } else {
      std::cout << plan;
    }
  }
  if (const auto path = arguments.text("--out")) {
    write_file(*path, [&](std::ostream& out) { write_solution(out, file, plan); });
  }
  if (const auto path = arguments.text("--svg")) {
    write_file(*path, [&](std::ostream& out) { out << memory_map_svg(file.blocks, plan); });
  }
  return done;
}

}  // namespace

const Command plan_command{"plan", "FILE.csv",
                           "plans the memory of the blocks in a CSV file (id,lower,upper,size[,alignment])",
                           plan_options, run_plan};

}  // namespace tyto::cli
