// SPDX-License-Identifier: MIT
// Orders of whole networks, small enough to schedule at once.
#include <doctest/doctest.h>

#include "optimiser/passes/optimise.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/networks/networks.hpp"

using namespace tyto;
using optimiser::Storages;

namespace {

struct Case {
  const char* name;
  core::Graph graph;
};

std::vector<Case> small_networks() {
  using namespace tyto::testing;
  const ResidualSize residual{.batch = 2, .side = 32, .blocks = {2, 1, 1}};
  const DenseSize dense{.batch = 2, .side = 32, .blocks = {3, 2}};
  const UNetworkSize u{.batch = 1, .side = 32, .channels = 8, .levels = 2};
  const TransformerSize sequence{.batch = 2, .length = 16, .width = 32, .inner = 64, .heads = 2, .layers = 2};
  std::vector<Case> cases;
  cases.push_back({"digits", digits_training(4)});
  for (const bool training : {false, true}) {
    cases.push_back({"residual", residual_network(training, residual)});
    cases.push_back({"dense", dense_network(training, dense)});
    cases.push_back({"u", u_network(training, u)});
    cases.push_back({"transformer", transformer(training, sequence)});
  }
  cases.push_back({"recurrent", recurrent_training({.batch = 4, .steps = 6, .cells = 16})});
  return cases;
}

}  // namespace

TEST_CASE("networks get orders that are valid, no worse than depth first, and plans that attain their peak") {
  for (const Case& each : small_networks()) {
    CAPTURE(each.name);
    const schedule::Problem problem = schedule::make_problem(each.graph, Storages(each.graph));
    const schedule::Schedule chosen = choose_order(problem);
    CHECK(schedule::is_order(problem, chosen.order));
    CHECK(chosen.peak <= choose_order(problem, {.strategy = "depth_first"}).peak);
    CHECK(chosen.peak <= choose_order(problem, {.strategy = "recorded"}).peak);
    const std::vector<Block> blocks = schedule::blocks_of(problem, chosen.order);
    const MemoryPlan plan = plan_memory(blocks);
    CHECK(check_memory_plan(blocks, plan).empty());
    CHECK(static_cast<double>(plan.height) <= 1.001 * static_cast<double>(chosen.peak));
  }
}

TEST_CASE("an optimised network is left as it is by another optimisation") {
  for (Case& each : small_networks()) {
    CAPTURE(each.name);
    const optimiser::PassOptions options;
    PassReport first, second;
    core::Graph once = optimiser::optimise(std::move(each.graph), options, &first);
    CHECK(first.fired() != 0);
    const std::string text = core::to_text(once);
    const core::Graph twice = optimiser::optimise(std::move(once), options, &second);
    CHECK(second.fired() == 0);
    CHECK(core::to_text(twice) == text);
  }
}

TEST_CASE("updates run as soon as their gradients exist, though they scale by a number that the graph makes") {
  // Eight products of one row with weights of 256 KiB: a gradient is as large as its weight, all else is small.
  constexpr std::int64_t width = 256;
  constexpr std::int64_t weight = width * width * 4;
  testing::Recording recording(true);
  testing::T y = recording.input({1, width});
  for (int layer = 0; layer < 8; ++layer) y = tanh(matmul(y, recording.weight({width, width})));
  const core::Graph graph = optimiser::optimise(recording.training_step(mean(square(y))));
  const schedule::Problem problem = schedule::make_problem(graph, Storages(graph));
  CHECK(choose_order(problem, {.strategy = "prompt_depth_first"}).peak < 2 * weight);
}
