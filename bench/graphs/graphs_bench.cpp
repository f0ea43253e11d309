// SPDX-License-Identifier: MIT
// Networks as graphs, compiled but never run: their orders, peaks, memory plans, and the time it takes to find them,
// beside libnnc's.
//
//   graphs_bench [--orders] [--planners] [--recompute] [--passes=-fuse] [NAME]
//
// --orders adds the bound of each way to order, --planners the height of each (quick) way to plan the blocks,
// --recompute what training costs in less memory, --passes says which passes run; NAME picks the networks whose names
// contain it.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "engine/prepare/graph_passes.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "optimiser/recompute/recompute.hpp"
#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/networks/networks.hpp"

using namespace tyto;

namespace {

struct Case {
  std::string name;
  std::function<core::Graph()> record;
  const char* peer;  // peak in MB of libnnc's plan (nodes, bound), or of Owl's
};

std::vector<Case> cases() {
  using namespace tyto::testing;
  return {
      {"lazy_mnist train b100", [] { return digits_training(100); }, "Owl 171, of it 103 state"},
      {"ResNet-50 infer b1", [] { return residual_network(false, {}); }, "10.44"},
      {"ResNet-50 train b8", [] { return residual_network(true, {.batch = 8}); }, "690.6"},
      {"DenseNet-121 infer b1", [] { return dense_network(false, {}); }, "9.63"},
      {"DenseNet-121 train b8", [] { return dense_network(true, {.batch = 8}); }, "991.2"},
      {"U-Net infer b1", [] { return u_network(false, {}); }, "another network"},
      {"U-Net train b4", [] { return u_network(true, {.batch = 4}); }, "another network"},
      {"U-Net as libnnc's infer b1", [] { return u_network(false, {.channels = 32, .narrows = false}); }, "48.23"},
      {"U-Net as libnnc's train b4", [] { return u_network(true, {.batch = 4, .channels = 32, .narrows = false}); },
       "469.8"},
      {"transformer infer b4", [] { return transformer(false, {}); }, "16.78"},
      {"transformer train b4", [] { return transformer(true, {}); }, "126.4"},
      {"transformer, length 64, infer b4", [] { return transformer(false, {.length = 64}); }, "16.78"},
      {"transformer, length 64, train b4", [] { return transformer(true, {.length = 64}); }, "126.4"},
      {"lazy_lstm train b100", [] { return recurrent_training({}); }, "Owl 50.9"},
  };
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::int64_t state_bytes(const core::Graph& graph) {
  std::int64_t sum = 0;
  for (const core::GraphInput& input : graph.inputs()) {
    if (input.state != nullptr && input.state->kind() != core::State::Kind::placeholder) {
      sum += static_cast<std::int64_t>(optimiser::bytes_of(graph, input.port));
    }
  }
  return sum;
}

// Bytes of every result that a kernel makes.
std::int64_t naive_sum(const core::Graph& graph, const schedule::Problem& problem) {
  std::int64_t sum = 0;
  for (const std::uint32_t index : problem.node) {
    const core::GraphNode& node = graph.nodes()[index];
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      sum += static_cast<std::int64_t>(optimiser::bytes_of(graph, node.first_result + i));
    }
  }
  return sum;
}

void show_planners(std::span<const Block> blocks) {
  for (const MemoryStrategy& strategy : memory_strategies()) {
    const std::string name(strategy.name);
    if (!name.starts_with("linear") && !name.starts_with("greedy") && name != "middle_out" && name != "lowest_first" &&
        name != "nnc")
      continue;
    const Stopwatch each;
    const MemoryPlan plan = plan_memory(blocks, {.strategy = name});
    std::printf("    %-20s %10.2f MB %10.4f of the bound %8.2f ms\n", name.c_str(), megabytes(plan.height),
                plan.ratio(), each.milliseconds());
  }
}

struct Wanted {
  bool orders = false;
  bool planners = false;
  bool recompute = false;
  std::string passes = {};
};

void show_recomputation(const core::Graph& graph, std::int64_t peak) {
  const double arithmetic = recompute::total_flops(graph);
  for (const int share : {100, 80, 60, 50, 40, 30, 20}) {
    const Stopwatch watch;
    const recompute::Fitted fitted = recompute::fit(graph, peak * share / 100);
    const double spent = watch.milliseconds();
    const schedule::Problem problem = schedule::make_problem(fitted.graph, optimiser::Storages(fitted.graph));
    const schedule::Schedule order = choose_order(problem, {.worth_changing = 0});
    const MemoryPlan plan = plan_memory(schedule::blocks_of(problem, order.order));
    std::printf("    limit %3d %%: plan %8.2f MB (%5.1f %%), arithmetic +%5.1f %%, %4zu -> %4zu nodes, %7.1f ms%s\n",
                share, megabytes(plan.height), 100.0 * static_cast<double>(plan.height) / static_cast<double>(peak),
                100.0 * fitted.extra_flops / arithmetic, graph.nodes().size(), fitted.graph.nodes().size(), spent,
                fitted.fits ? "" : "; does not fit");
  }
}

void show(const Case& which, const Wanted& wanted) {
  const core::Graph recorded = which.record();
  CompileOptions options;
  options.passes = wanted.passes;
  const Stopwatch optimising;
  PassReport report;
  const core::Graph graph = run::optimised(recorded, run::cpu_device(), options, report);
  const double optimised = optimising.milliseconds();

  const Stopwatch scheduling;
  const optimiser::Storages storages(graph);
  const schedule::Problem problem = schedule::make_problem(graph, storages);
  const schedule::Schedule chosen = choose_order(problem);
  const double scheduled = scheduling.milliseconds();

  // Bytes really allocated: with parts computed in their places, weights packed, and the kernels' workspace.
  const auto compiled = [&](std::string_view schedule) {
    CompileOptions as_it_is = options;
    as_it_is.passes = run::as_recorded;
    as_it_is.schedule = schedule;
    return run::Executable(graph, run::cpu_device(), as_it_is);
  };
  const run::Executable executable = compiled("best");
  const MemoryPlan& plan = executable.plan();
  std::printf("| %s | %zu -> %zu | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.4f | %.1f + %.1f + %.1f | %s |\n",
              which.name.c_str(), recorded.nodes().size(), graph.nodes().size(), megabytes(state_bytes(graph)),
              megabytes(static_cast<std::int64_t>(executable.packed_bytes())), megabytes(naive_sum(graph, problem)),
              megabytes(compiled("depth_first").plan().bound), megabytes(plan.bound), megabytes(plan.height),
              plan.ratio(), optimised, scheduled, plan.milliseconds, which.peer);
  if (wanted.planners) show_planners(executable.blocks());
  if (wanted.recompute) show_recomputation(graph, chosen.peak);
  if (!wanted.orders) return;
  for (const schedule::ScheduleStrategy& strategy : schedule::schedule_strategies()) {
    const run::Executable other = compiled(strategy.name);
    std::printf("    %-20s %10.2f MB\n", strategy.name.data(), megabytes(other.plan().bound));
  }
  std::printf("    %-20s %10.2f MB\n", "no order is lower", megabytes(schedule::lower_bound(problem)));
}

}  // namespace

int main(int count, char** arguments) {
  Wanted wanted;
  std::string name;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--orders") == 0) {
      wanted.orders = true;
    } else if (std::strcmp(arguments[i], "--planners") == 0) {
      wanted.planners = true;
    } else if (std::strcmp(arguments[i], "--recompute") == 0) {
      wanted.recompute = true;
    } else if (std::strncmp(arguments[i], "--passes=", 9) == 0) {
      wanted.passes = arguments[i] + 9;
    } else {
      name = arguments[i];
    }
  }
  std::printf(
      "| graph | nodes | state MB | packed MB | naive MB | depth-first bound MB | bound MB | plan MB | plan / bound | "
      "passes + order + plan ms | peer's plan MB |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& each : cases()) {
    if (each.name.find(name) != std::string::npos) show(each, wanted);
  }
}
