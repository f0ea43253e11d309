// SPDX-License-Identifier: MIT
// The peaks that orders are chosen by, against what the executable really asks the memory planner for.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "tests/schedule/networks/networks.hpp"
#include "tests/schedule/random_graph.hpp"

using namespace tyto;

namespace {

// Most bytes alive at once in the arena, without the workspace of kernels.
std::size_t load_of(const run::Executable& executable) {
  std::vector<std::int64_t> alive(executable.steps().size() + 1, 0);
  for (const Block& block : executable.blocks()) {
    if (block.label.ends_with(" workspace")) continue;
    for (std::int64_t step = block.lower; step < block.upper; ++step) {
      alive[static_cast<std::size_t>(step)] += (block.size + 63) / 64 * 64;
    }
  }
  return static_cast<std::size_t>(*std::ranges::max_element(alive));
}

CompileOptions in_order(const char* schedule) {
  CompileOptions options;
  options.schedule = schedule;
  return options;
}

}  // namespace

TEST_CASE("orders of networks are chosen by the bytes that their steps then need, parts in their places included") {
  using namespace tyto::testing;
  for (const char* schedule : {"recorded", "depth_first", "prompt_tree_rule", "whole_updates"}) {
    CAPTURE(std::string(schedule));
    const auto check = [&](const char* name, core::Graph graph) {
      CAPTURE(std::string(name));
      const run::Executable executable(std::move(graph), run::cpu_device(), in_order(schedule));
      // Operands that a kernel wants dense are copied; the count does not know of them before the steps are made.
      const bool copies = std::ranges::any_of(
          executable.steps(), [](const run::ExecutableStep& step) { return std::string_view(step.name) == "copy"; });
      CHECK(executable.counted_bytes() <= load_of(executable));
      if (!copies) CHECK(executable.counted_bytes() == load_of(executable));
    };
    for (const bool training : {false, true}) {
      check("residual", residual_network(training, {.batch = 2, .side = 32, .blocks = {2, 1, 1}}));
      check("dense", dense_network(training, {.batch = 2, .side = 32, .blocks = {3, 2}}));
      check("u", u_network(training, {.batch = 1, .side = 32, .channels = 8, .levels = 2}));
      check("transformer",
            transformer(training, {.batch = 2, .length = 16, .width = 32, .inner = 64, .heads = 2, .layers = 2}));
    }
    check("recurrent", recurrent_training({.batch = 4, .steps = 6, .cells = 16}));
  }
}

TEST_CASE("orders of random graphs are chosen by the bytes that their steps then need") {
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    const core::Graph graph = testing::random_graph(random, 4 + i % 40);
    for (const char* schedule : {"recorded", "prompt_tree_rule", "whole_updates"}) {
      CAPTURE(i);
      CAPTURE(std::string(schedule));
      CompileOptions options = in_order(schedule);
      options.passes = "dead_code";
      const run::Executable executable(graph, run::cpu_device(), options);
      // A state that becomes what another one was is copied at the end, which is not counted.
      const core::Graph& live = executable.graph();
      const bool exchanges = std::ranges::any_of(live.updates(), [&](const core::GraphUpdate& update) {
        return live.nodes()[live.producer(update.port)].input_count == 0;
      });
      if (exchanges) continue;
      CHECK(executable.counted_bytes() == load_of(executable));
    }
  }
}

TEST_CASE("kernel workspace is counted where it raises the peak") {
  using namespace tyto::testing;
  for (const bool training : {false, true}) {
    const core::Graph graph = u_network(training, {.batch = 1, .side = 32, .channels = 8, .levels = 2});
    const run::Executable best(graph, run::cpu_device(), in_order("best"));
    const run::Executable plain(graph, run::cpu_device(), in_order("depth_first"));
    CHECK(best.plan().bound <= plain.plan().bound);
    CHECK(best.counted_bytes() <= static_cast<std::size_t>(best.plan().bound));
  }
}
