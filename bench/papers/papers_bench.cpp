// SPDX-License-Identifier: MIT
// Counts, plans and times that bench/papers/papers.py sets beside published ones; tab-separated lines, names first.
//
//   papers_bench parameters [NETWORK...]      numbers that are trained
//   papers_bench plans SIDE [NETWORK...]      intermediate allocations, and the peak of every strategy
//   papers_bench clients SECONDS NETWORK N... processor time, and wall time, over all runs of N threads of one model
//   papers_bench l2 | pebbles                 the small programs of the texts
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "bench/papers/networks.hpp"
#include "bench/process_usage.hpp"

namespace {

using namespace tyto;
using bench::processor_seconds;
using Lazy = tyto::Tensor<tyto::Lazy>;
using Names = std::vector<std::string>;

std::int64_t parameters_of(const nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& each : module.parameters()) count += each.size();
  return count;
}

void show_parameters(const Names& networks) {
  for (const std::string& name : networks) {
    const auto network = papers::make_network(name, nn::constant_weights(0));
    std::printf("%s\t%lld\n", name.c_str(), static_cast<long long>(parameters_of(network)));
  }
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

/// Allocations as recorded and after the passes; then a line each strategy. Every plan passes the checker.
void show_plans(std::int64_t side, const Names& networks) {
  for (const std::string& name : networks) {
    const auto network = papers::make_network(name, nn::constant_weights(0));
    const Lazy x = Lazy::placeholder(papers::input_shape(name, side));
    const GraphSpec spec{.inputs = {x}, .outputs = {network(x)}};
    const auto show = [&](const char* what, Graph graph) {
      const MemoryPlan& plan = graph.plan();
      const GraphReport report = graph.report();
      std::printf("%s\t%s\t%zu\t%zu\t%.3f\t%.3f\t%.3f\t%.4f\n", name.c_str(), what, report.steps, plan.offsets.size(),
                  megabytes(plan.naive), megabytes(plan.bound), megabytes(plan.height), plan.milliseconds);
      std::fflush(stdout);
    };
    show("recorded", Graph(spec, {.check_plan = true, .passes = "none"}));
    for (const MemoryStrategy& each : memory_strategies()) {
      if (!each.available) continue;
      show(std::string(each.name).c_str(),
           Graph(spec, {.memory_strategy = std::string(each.name), .check_plan = true}));
    }
  }
}

/// Each client has a graph of its own: its arena is the slab that the text allocates once. Weights are shared.
void show_clients(double seconds, const std::string& name, int clients) {
  threads(1);  // the threads are those of the callers
  seed(42);
  const auto network = papers::make_network(name, nn::he_normal);
  const Lazy x = Lazy::placeholder(papers::input_shape(name, 128));
  const Lazy y = network(x), picture = Lazy::uniform(x.shape());
  std::vector<Graph> graphs;
  for (int i = 0; i < clients; ++i) graphs.emplace_back(GraphSpec{.inputs = {x}, .outputs = {y}});
  const auto run = [&](Graph& graph) {
    graph.set(x, picture);
    graph.run();
    graph.output(0).to_vector<float>();
  };
  for (Graph& graph : graphs) run(graph);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> runs{0};
  double before = 0;
  std::chrono::steady_clock::time_point began;
  std::barrier start(clients + 1, [&]() noexcept {
    before = processor_seconds();
    began = std::chrono::steady_clock::now();
  });
  std::vector<std::thread> team;
  for (Graph& graph : graphs) {
    team.emplace_back([&] {
      start.arrive_and_wait();
      do {
        run(graph);
        ++runs;
      } while (!stop);
    });
  }
  start.arrive_and_wait();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& each : team) each.join();
  const double processor = processor_seconds() - before, count = static_cast<double>(runs.load());
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%s\t%d\t%.4f\t%.4f\n", name.c_str(), clients, 1e3 * processor / count, 1e3 * wall / count);
  std::fflush(stdout);
}

void show_graph(const char* what, Graph graph) {
  const std::string text = graph.text();
  const GraphReport report = graph.report();
  std::printf("%s\t%td\t%zu\t%zu\t%lld\n", what, std::count(text.begin(), text.end(), '\n'), report.nodes, report.steps,
              static_cast<long long>(graph.plan().height));
}

/// Nervana's L2 norm of x - y, as its page writes it for NumPy, and as a sum.
void show_l2() {
  constexpr std::int64_t length = 1 << 24;
  const Lazy x = Lazy::placeholder({length}), y = Lazy::placeholder({length});
  const Lazy t = x - y;
  const GraphSpec product{.inputs = {x, y}, .outputs = {dot(t.T(), t)}};
  const GraphSpec summed{.inputs = {x, y}, .outputs = {sum(square(t))}};
  show_graph("t = x - y; dot(t.T, t), as recorded", Graph(product, {.passes = "none"}));
  show_graph("t = x - y; dot(t.T, t)", Graph(product));
  show_graph("sum(square(x - y))", Graph(summed));
}

/// Figure 3 of Owl's report, whose vertices cannot be fused here: steps and pebbles (arrays) without and with a limit.
void show_pebbles() {
  constexpr std::int64_t length = 1 << 20, bytes = 4 * length;
  const Lazy input = Lazy::placeholder({length});
  const Lazy v0 = exp(input), v1 = sin(v0), v2 = cos(v1), v3 = sqrt(v2), v4 = v2 * v3, v5 = v4 + v1;
  for (const std::int64_t pebbles : {0, 2}) {
    Graph graph(
        {.inputs = {input}, .outputs = {v5}},
        {.check_plan = true, .memory_limit = static_cast<std::size_t>(pebbles * (bytes + 4096)), .passes = "none"});
    std::printf("pebbles\t%lld\t%zu\t%.2f\n", static_cast<long long>(pebbles), graph.report().steps,
                static_cast<double>(graph.plan().height) / static_cast<double>(bytes));
  }
}

/// Blocks of the allocation article's kind: regions reused in parts, and one that its two rules place differently.
void show_regions() {
  const std::vector<Block> parts{{.id = 0, .lower = 0, .upper = 1, .size = 100},
                                 {.id = 1, .lower = 1, .upper = 2, .size = 60},
                                 {.id = 2, .lower = 1, .upper = 2, .size = 40},
                                 {.id = 3, .lower = 2, .upper = 3, .size = 100}};
  const std::vector<Block> serial{{.id = 0, .lower = 0, .upper = 2, .size = 8},
                                  {.id = 1, .lower = 1, .upper = 3, .size = 6},
                                  {.id = 2, .lower = 2, .upper = 4, .size = 3},
                                  {.id = 3, .lower = 3, .upper = 5, .size = 5},
                                  {.id = 4, .lower = 5, .upper = 7, .size = 8}};
  const auto show = [](const char* what, const std::vector<Block>& blocks) {
    for (const char* strategy : {"nnc", "nnc2018", "owl", "bump"}) {
      const MemoryPlan plan = plan_memory(blocks, {.strategy = strategy});
      if (!check_memory_plan(blocks, plan).empty()) throw Error(std::string(what) + ": not a plan");
      std::printf("%s\t%s\t%lld\t%lld\n", what, strategy, static_cast<long long>(plan.height),
                  static_cast<long long>(plan.bound));
    }
  };
  show("parts", parts);
  show("serial", serial);
}

/// x[c] = f(x[c - k]): the arrays that the loop takes, its k initial values lying where they are given.
void show_delays() {
  constexpr std::int64_t side = 256, bytes = 4 * side * side;
  for (std::size_t k = 1; k <= 5; ++k) {
    std::vector<Lazy> init;
    for (std::size_t i = 0; i < k; ++i) init.push_back(Lazy::placeholder({side, side}));
    const auto last = fori_loop(0, 20, init, [](const Lazy&, const std::vector<Lazy>& x) {
      std::vector<Lazy> next(x.begin() + 1, x.end());
      next.push_back(cumsum(x.front(), 0));
      return next;
    });
    Graph graph({.inputs = init, .outputs = {sum(last.back())}});
    std::printf("delay\t%zu\t%.2f\t%zu\n", k, static_cast<double>(graph.plan().height) / static_cast<double>(bytes),
                graph.report().moved.size());
  }
}

void expect(bool given, const char* usage) {
  if (!given) throw ValueError(std::string("usage: papers_bench ") + usage);
}

void plans(const Names& words) {
  const std::int64_t side = words.empty() ? 0 : std::atoll(words[0].c_str());
  expect(side > 0, "plans SIDE [NETWORK...], SIDE in pixels");
  show_plans(side, words.size() > 1 ? Names(words.begin() + 1, words.end()) : papers::network_names());
}

void clients(const Names& words) {
  std::vector<int> counts;
  for (std::size_t i = 2; i < words.size(); ++i) counts.push_back(std::atoi(words[i].c_str()));
  const bool positive = std::all_of(counts.begin(), counts.end(), [](int n) { return n > 0; });
  expect(!counts.empty() && positive && std::atof(words[0].c_str()) > 0,
         "clients SECONDS NETWORK N..., SECONDS and each N above 0");
  for (const int n : counts) show_clients(std::atof(words[0].c_str()), words[1], n);
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string what = count > 1 ? words[1] : "parameters";
    Names rest(words + std::min(count, 2), words + count);
    if (what == "parameters") show_parameters(rest.empty() ? papers::network_names() : rest);
    else if (what == "plans") plans(rest);
    else if (what == "clients") clients(rest);
    else if (what == "l2") show_l2();
    else if (what == "pebbles") {
      show_pebbles();
      show_regions();
      show_delays();
    } else throw ValueError("papers_bench does not know '" + what + "'");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "papers_bench: %s\n", error.what());
    return 1;
  }
}
