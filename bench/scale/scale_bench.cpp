// SPDX-License-Identifier: MIT
// Cost per node as graphs grow: long chains, one node with many consumers, many states, a vector written element by
// element, and the recurrent training step.
//
//   scale_bench [NAME]    NAME picks the lines whose names contain it
//
// Times are processor time, so that other programs on the machine count little; each line is the best of a few runs.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "optimiser/memory/plan.hpp"
#include "optimiser/passes/optimise.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/networks/networks.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using T = Tensor<Lazy>;

namespace {

double milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Times of the stages of a graph, in milliseconds.
struct Stages {
  double record = 0;   // the expressions
  double prepare = 0;  // trace, passes, order, plan, kernels
  double run = 0;      // the second run
  double drop = 0;     // taking it all down
  std::size_t nodes = 0;
  std::size_t steps = 0;
  std::size_t arena = 0;
};

Stages measure(const std::function<GraphSpec()>& record) {
  Stages stages;
  double from = milliseconds_now();
  const auto lap = [&] {
    const double now = milliseconds_now();
    return now - std::exchange(from, now);
  };
  {
    std::optional<GraphSpec> spec = record();
    stages.record = lap();
    Graph graph(*spec);
    graph.prepare();
    stages.prepare = lap();
    for (const T& input : spec->inputs) graph.set(input, T::ones(input.shape()));
    graph.run();
    from = milliseconds_now();
    for (const T& input : spec->inputs) graph.set(input, T::ones(input.shape()));
    graph.run();
    stages.run = lap();
    const GraphReport report = graph.report();
    stages.nodes = report.passes.nodes_before;
    stages.steps = report.steps;
    stages.arena = report.arena_bytes;
    from = milliseconds_now();
    spec.reset();
  }
  stages.drop = lap();
  return stages;
}

void show(const std::string& name, int runs, const std::function<GraphSpec()>& record) {
  Stages best = measure(record);
  for (int i = 1; i < runs; ++i) {
    const Stages again = measure(record);
    for (double Stages::*stage : {&Stages::record, &Stages::prepare, &Stages::run, &Stages::drop}) {
      best.*stage = std::min(best.*stage, again.*stage);
    }
  }
  const double each = 1e6 / static_cast<double>(best.nodes);
  std::printf("| %s | %zu | %zu | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f | %.2f |\n", name.c_str(), best.nodes,
              best.steps, best.record, best.prepare, best.record * each, best.prepare * each, best.run * each,
              best.drop * each, static_cast<double>(best.arena) / 1e6);
  std::fflush(stdout);
}

// sin keeps neighbours from being merged into one number; x is read all along.
GraphSpec chain(std::int64_t length) {
  const T x = T::placeholder({4});
  T y = x;
  for (std::int64_t i = 0; i < length / 2; ++i) y = sin(y) + x;
  return {.inputs = {x}, .outputs = {y}};
}

GraphSpec chain_gradient(std::int64_t length) {
  const T x = T::placeholder({4});
  const T gradient = grad([&](const T& v) {
    T y = v;
    for (std::int64_t i = 0; i < length / 4; ++i) y = sin(y) * 0.5;
    return sum(y);
  })(x);
  return {.inputs = {x}, .outputs = {gradient}};
}

GraphSpec joined_readers(std::int64_t count) {
  const T x = T::placeholder({4});
  std::vector<T> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(x * static_cast<double>(i + 2));
  return {.inputs = {x}, .outputs = {concat<Lazy>(parts, 0)}};
}

GraphSpec summed_readers(std::int64_t count) {
  const T x = T::placeholder({4});
  T total = x;
  for (std::int64_t i = 0; i < count; ++i) total = total + sin(x * static_cast<double>(i + 2));
  return {.inputs = {x}, .outputs = {total}};
}

GraphSpec state_pairs(std::int64_t count) {
  const T x = T::placeholder({4});
  GraphSpec spec{.inputs = {x}};
  T total = x;
  for (std::int64_t i = 0; i < count; ++i) {
    const T weight = T::variable(T::ones({4}));
    const T memory = T::variable(T::ones({4}));
    const T sum = memory + x * x;
    spec.updates.push_back({memory, sum});
    spec.updates.push_back({weight, weight - x * 0.01 / sqrt(sum)});
    total = total + weight;
  }
  spec.outputs = {total};
  return spec;
}

GraphSpec element_writes(std::int64_t count) {
  const T from = T::placeholder({count});
  T x = from * 1.0;
  for (std::int64_t i = 0; i < count; ++i) x(i) = from(count - 1 - i) * 2.0;
  return {.inputs = {from}, .outputs = {x}};
}

// The stages one by one, without kernels: the network is never run.
void show_recurrent() {
  double best[5];
  std::fill(std::begin(best), std::end(best), std::numeric_limits<double>::max());
  std::size_t before = 0;
  std::size_t after = 0;
  std::int64_t height = 0;
  for (int run = 0; run < 20; ++run) {
    double times[5];
    double from = milliseconds_now();
    const auto lap = [&] {
      const double now = milliseconds_now();
      return now - std::exchange(from, now);
    };
    core::Graph recorded = tyto::testing::recurrent_training({});
    before = recorded.nodes().size();
    times[0] = lap();
    const core::Graph graph = optimiser::optimise(std::move(recorded));
    after = graph.nodes().size();
    times[1] = lap();
    const schedule::Problem problem = schedule::make_problem(graph, optimiser::Storages(graph));
    const schedule::Schedule order = choose_order(problem);
    times[2] = lap();
    const std::vector<Block> blocks = schedule::blocks_of(problem, order.order);
    const MemoryPlan plan =
        memory::plan_worth(blocks, {.work = memory::worth_of_graph(blocks.size())}, memory::worth_of_byte);
    height = plan.height;
    times[3] = lap();
    times[4] = times[0] + times[1] + times[2] + times[3];
    for (int i = 0; i < 5; ++i) best[i] = std::min(best[i], times[i]);
  }
  std::printf(
      "\nlazy_lstm training, batch 100: %zu nodes -> %zu; record with gradients %.1f ms, passes %.1f, order %.1f, plan "
      "%.1f, all %.1f; planned %.2f MB (Owl: 15105 -> 8224, 120 ms without planning, 50.9 MB)\n",
      before, after, best[0], best[1], best[2], best[3], best[4], static_cast<double>(height) / 1e6);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "";
  const auto is_wanted = [&](const std::string& name) { return name.find(wanted) != std::string::npos; };
  struct Line {
    const char* name;
    GraphSpec (*record)(std::int64_t);
    std::vector<std::int64_t> sizes;
  };
  const Line lines[] = {
      {"chain", chain, {10'000, 100'000, 1'000'000}},
      {"gradient of a chain", chain_gradient, {10'000, 100'000, 1'000'000}},
      {"consumers of one node, joined", joined_readers, {4'000, 40'000}},
      {"consumers of one node, summed", summed_readers, {4'000, 40'000}},
      {"state pairs", state_pairs, {80, 800, 8'000}},
      {"element writes", element_writes, {8'000, 16'000, 64'000}},
  };
  std::printf(
      "| graph | nodes | steps | record ms | prepare ms | record ns/node | prepare ns/node | run "
      "ns/node | drop ns/node | arena MB |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Line& line : lines) {
    for (const std::int64_t size : line.sizes) {
      const std::string name = std::string(line.name) + ", " + std::to_string(size);
      if (is_wanted(name)) show(name, size >= 1'000'000 ? 1 : 3, [&] { return line.record(size); });
    }
  }
  if (is_wanted("recurrent")) show_recurrent();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("\nmost memory held: %.0f MB\n", static_cast<double>(usage.ru_maxrss) / 1e3);
}
