// SPDX-License-Identifier: MIT
// Times training with recomputation in less memory: ResNet-50 and the transformer, at sizes that take seconds.
//
//   recompute_bench [STEPS]
//
// Each limit is a share of the unlimited plan. Times are processor time on one thread, which other programs disturb
// least: the least of STEPS (4) steps, the limits taking turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/session.hpp"
#include "tests/schedule/networks/networks.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;

namespace {

// Weights of a network that was only recorded: small numbers that differ, labels of class 0.
void give_inputs(run::Session& session) {
  const core::Graph& graph = session.executable().graph();
  for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) {
    const core::TensorType& type = graph.type(graph.inputs()[i].port);
    core::Array array = run::new_array(run::cpu_device(), type.dtype, type.shape);
    const auto count = static_cast<std::size_t>(element_count(type.shape));
    if (type.dtype == DType::f32) {
      auto* numbers = reinterpret_cast<float*>(array.buffer->memory());
      for (std::size_t k = 0; k < count; ++k) numbers[k] = static_cast<float>(k * 7 % 13) * 0.002F - 0.01F;
    } else {
      std::fill_n(reinterpret_cast<std::byte*>(array.buffer->memory()), count * size_of(type.dtype), std::byte{0});
    }
    session.bind(i, array);
  }
}

double milliseconds_of(run::Session& session) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  session.run();
  return now() - start;
}

void show(const char* name, const std::function<core::Graph()>& record, int steps) {
  struct Variant {
    int share;
    std::unique_ptr<run::Session> session;
    double least = 1e300;
  };
  std::vector<Variant> variants;
  std::size_t whole = 0;
  for (const int share : {100, 80, 60, 50, 40}) {
    CompileOptions options;
    if (share != 100) options.memory_limit = whole / 100 * static_cast<std::size_t>(share);
    std::shared_ptr<const run::Executable> executable;
    try {
      executable = std::make_shared<const run::Executable>(record(), run::cpu_device(), options);
    } catch (const DeviceError& error) {
      std::printf("| %s | %d %% | %s | | | |\n", name, share, error.what());
      continue;
    }
    if (share == 100) whole = executable->arena_bytes();
    variants.push_back({share, std::make_unique<run::Session>(std::move(executable))});
    give_inputs(*variants.back().session);
  }
  for (int step = 0; step <= steps; ++step) {
    for (Variant& variant : variants) {
      const double spent = milliseconds_of(*variant.session);
      if (step != 0) variant.least = std::min(variant.least, spent);
    }
  }
  for (const Variant& variant : variants) {
    const double bytes = static_cast<double>(variant.session->executable().arena_bytes());
    std::printf("| %s | %d %% | %.1f MB (%.1f %%) | %zu steps | %.1f ms | %+.1f %% |\n", name, variant.share,
                bytes / 1e6, 100 * bytes / static_cast<double>(whole), variant.session->executable().steps().size(),
                variant.least, 100 * (variant.least / variants.front().least - 1));
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  threads(1);
  const int steps = count > 1 ? std::max(1, std::atoi(arguments[1])) : 4;
  std::printf("| training step | limit | plan | | time | more time |\n|---|---|---|---|---|---|\n");
  show(
      "ResNet-50, batch 8, 128x128", [] { return testing::residual_network(true, {.batch = 8, .side = 128}); }, steps);
  show(
      "transformer, batch 2, length 128", [] { return testing::transformer(true, {.batch = 2, .length = 128}); },
      steps);
}
