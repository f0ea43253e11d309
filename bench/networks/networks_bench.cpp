// SPDX-License-Identifier: MIT
// Times whole networks with and without epilogues of products and packed weights, in turns so that changes of the
// machine's speed meet all.
//
//   networks_bench [SECONDS [NAME]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/session.hpp"
#include "tests/schedule/networks/networks.hpp"

using namespace tyto;

namespace {

struct Case {
  const char* name;
  std::function<core::Graph()> record;
};

// Layers of an MLP on pictures of digits.
core::Graph perceptron(std::int64_t batch) {
  testing::Recording recording(false);
  testing::T x = recording.input({batch, 784});
  for (const std::int64_t width : {1024, 1024, 10}) x = relu(testing::dense(recording, x, width));
  return recording.inference(x);
}

std::vector<Case> cases() {
  using namespace tyto::testing;
  return {
      {"ResNet-50 b1", [] { return residual_network(false, {}); }},
      {"ResNet-50 b8", [] { return residual_network(false, {.batch = 8}); }},
      {"DenseNet-121 b1", [] { return dense_network(false, {}); }},
      {"DenseNet-121 b8", [] { return dense_network(false, {.batch = 8}); }},
      {"U-Net b1", [] { return u_network(false, {}); }},
      {"transformer b4", [] { return transformer(false, {}); }},
      {"MLP 784-1024-1024-10 b1", [] { return perceptron(1); }},
      {"MLP 784-1024-1024-10 b32", [] { return perceptron(32); }},
  };
}

core::Array numbers(const core::TensorType& type) {
  core::Array array = run::new_array(run::cpu_device(), type.dtype, type.shape);
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  if (type.dtype != DType::f32) {
    std::memset(array.buffer->memory(), 0, count * size_of(type.dtype));
    return array;
  }
  auto* values = static_cast<float*>(array.buffer->memory());
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 2654435761u % 1021) * 0.0001f - 0.05f;
  return array;
}

std::unique_ptr<run::Session> session_of(const core::Graph& graph, const std::string& passes) {
  CompileOptions options;
  options.passes = passes;
  auto session =
      std::make_unique<run::Session>(std::make_shared<const run::Executable>(graph, run::cpu_device(), options));
  // The network was only recorded: its states have no contents, and nor have the packed ones, which are bytes.
  const core::Graph& prepared = session->executable().graph();
  for (std::uint32_t i = 0; i < prepared.inputs().size(); ++i) {
    session->bind(i, numbers(prepared.type(prepared.inputs()[i].port)));
  }
  return session;
}

/// Steps that only move elements.
std::size_t moves(const run::Executable& executable) {
  std::size_t count = 0;
  for (const run::ExecutableStep& step : executable.steps()) {
    const std::string name = step.name;
    count += name == "copy" || name == "concat" ? 1 : 0;
  }
  return count;
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 3;
  const std::string name = count > 2 ? arguments[2] : "";
  const std::vector<std::string> selections{"none", "-epilogues,-packing", "-packing", "-epilogues", ""};
  std::printf(
      "| network, ms a run | no passes | without both | epilogues | packing | both | steps | copies | arena MB | kept "
      "MB |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& each : cases()) {
    if (std::string(each.name).find(name) == std::string::npos) continue;
    const core::Graph graph = each.record();
    std::vector<std::unique_ptr<run::Session>> sessions;
    for (const std::string& selection : selections) sessions.push_back(session_of(graph, selection));
    std::vector<double> best(sessions.size(), 1e9);
    const auto start = std::chrono::steady_clock::now();
    const auto since = [](auto from) {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    for (int round = 0; round < 3 || since(start) < seconds; ++round) {
      for (std::size_t i = 0; i < sessions.size(); ++i) {
        const auto began = std::chrono::steady_clock::now();
        sessions[i]->run();
        best[i] = std::min(best[i], since(began));
      }
    }
    if (std::getenv("TYTO_SHOW_PASSES") != nullptr) std::cout << sessions.back()->executable().passes();
    std::printf("| %s |", each.name);
    for (const double time : best) std::printf(" %.3f |", time * 1e3);
    const run::Executable& plain = sessions[1]->executable();
    const run::Executable& full = sessions.back()->executable();
    std::printf(" %zu -> %zu | %zu | %.2f -> %.2f | %.1f |\n", plain.steps().size(), full.steps().size(), moves(full),
                static_cast<double>(plain.arena_bytes()) / 1e6, static_cast<double>(full.arena_bytes()) / 1e6,
                static_cast<double>(full.packed_bytes()) / 1e6);
    std::fflush(stdout);
  }
}
