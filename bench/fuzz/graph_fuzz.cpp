// SPDX-License-Identifier: MIT
// Open-ended fuzzing of graphs: random programs over all operators, in every way that must not matter.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/operator.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/fuzz/trial.hpp"

namespace {

constexpr char usage[] =
    "usage: graph_fuzz [PROGRAMS [FIRST_SEED [regions] [DEVICE]]]\n"
    "regions: small programs of loops and branches, each in a few of the ways in turn\n"
    "DEVICE: such as opencl; small programs run there, and are held against eager mode on the CPU\n";

// Programs for a device that are compiled together.
constexpr std::size_t at_once = 100;

}  // namespace

int main(int count, char** arguments) {
  const bool regions = count >= 4 && std::string_view(arguments[3]) == "regions";
  const int past_regions = regions ? 4 : 3;
  const std::string device = count > past_regions ? arguments[past_regions] : "cpu";
  if (count > past_regions + 1 || (device != "cpu" && !device.starts_with("opencl"))) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::uint64_t programs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000;
  const std::uint64_t first = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1'000'000;
  tyto::fuzz::TrialCount tried;
  std::uint64_t faults = 0;
  std::vector<tyto::fuzz::Trial> waiting;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    if (device == "cpu") {
      const auto trial = regions ? tyto::fuzz::region_trial_of(seed) : tyto::fuzz::trial_of(seed);
      if (const auto fault = tyto::fuzz::fault_of(trial, tried)) {
        ++faults;
        std::printf("%s\n%s\n", fault->c_str(), tyto::fuzz::smallest_fault(trial).c_str());
      }
    } else {
      waiting.push_back(regions ? tyto::fuzz::region_trial_of(seed) : tyto::fuzz::device_trial_of(seed));
      if (waiting.size() == at_once || seed + 1 == first + programs) {
        for (const std::string& fault : tyto::fuzz::faults_on(device, waiting, tried)) {
          ++faults;
          std::printf("%s\n", fault.c_str());
        }
        waiting.clear();
      }
    }
    if ((seed + 1 - first) % 1000 == 0) {
      std::printf("%llu programs, %llu faults\n", static_cast<unsigned long long>(seed + 1 - first),
                  static_cast<unsigned long long>(faults));
    }
    std::fflush(stdout);
  }
  std::printf(
      "%zu graphs of %zu operators, %zu runs, %zu results within rounding, %zu by open signs and slopes, %zu moves "
      "refused: "
      "%llu faults\n",
      tried.graphs, tried.nodes, tried.runs, tried.within_rounding, tried.by_choices, tried.refused,
      static_cast<unsigned long long>(faults));
  for (const tyto::core::OpDef& def : tyto::core::op_table()) {
    const auto id = static_cast<std::size_t>(def.id);
    if (id >= tried.operators.size() || tried.operators[id] == 0) {
      std::printf("never recorded: %.*s\n", static_cast<int>(def.name.size()), def.name.data());
    }
  }
  for (const tyto::optimiser::RuleFamily& family : tyto::optimiser::rule_families()) {
    for (const tyto::optimiser::Rule& rule : family.rules) {
      if (tried.rules.contains(std::string(rule.name))) continue;
      std::printf("never fired: %s/%s\n", std::string(family.pass).c_str(), std::string(rule.name).c_str());
    }
  }
  for (const auto& [fallback, times] : tried.fallbacks)
    std::printf("on the CPU: %s, %zu times\n", fallback.c_str(), times);
  return faults == 0 ? 0 : 1;
}
