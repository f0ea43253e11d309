// SPDX-License-Identifier: MIT
// One training step of the network of examples/mnist, with the graph's passes added one after the other: nodes, steps,
// bytes moved, memory, time.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/mnist_network.hpp"

namespace {

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

constexpr std::int64_t batch = 100;

struct TrainingStep {
  Tensor x = Tensor::placeholder({batch, 28, 28, 1}, tyto::DType::f32, "x");
  Tensor t = Tensor::placeholder({batch}, tyto::DType::i64, "t");
  Tensor loss = {};
  std::vector<tyto::Update> updates = {};

  tyto::Graph graph(const std::string& passes) const {
    tyto::Graph made{{.inputs = {x, t}, .outputs = {loss}, .updates = updates}, {.passes = passes}};
    made.set(x, Tensor::uniform({batch, 28, 28, 1}));
    made.set(t, Tensor::integers({batch}, {.low = 0, .high = 10}));
    return made;
  }
};

// The update edges written out: Adagrad as in nn::adagrad, on states of this graph.
TrainingStep record() {
  const nn::Sequential model = tyto::bench::mnist_network();
  TrainingStep step;
  std::vector<Tensor> parameters;
  std::vector<Tensor> sums;
  for (const tyto::Value& parameter : model.parameters()) {
    parameters.emplace_back(parameter);
    sums.push_back(Tensor::persistent(Tensor::zeros(parameters.back().shape())));
  }
  auto objective = [&](Tensor x, Tensor t) { return cross_entropy(model(x, nn::training), t); };
  auto [loss, gradients] = tyto::value_and_grad(objective, parameters)(step.x, step.t);
  step.loss = loss;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& weight = parameters[i];
    const Tensor next = sums[i] + gradients[i] * gradients[i];
    step.updates.push_back({sums[i], next});
    step.updates.push_back({weight, weight - 0.005f * gradients[i] / sqrt(next + 1e-6f)});
  }
  return step;
}

}  // namespace

int main() {
  std::printf("%-14s %8s %8s %12s %12s %10s\n", "passes up to", "nodes", "steps", "MB moved", "MB arena", "ms");
  std::string passes = "none";
  const auto row = [&](const std::string& name) {
    // Recorded anew each time: a run updates the states, and what was recorded before reads them as they were.
    tyto::Graph graph = record().graph(passes);
    double best = 1e300;
    std::int64_t bytes = 0;
    for (int repeat = 0; repeat < 10; ++repeat) {
      const tyto::GraphProfile profile = graph.profile();
      best = std::min(best, profile.milliseconds);
      bytes = 0;
      for (const tyto::StepProfile& timed : profile.steps) bytes += timed.bytes;
    }
    const tyto::GraphReport report = graph.report();
    std::printf("%-14s %8zu %8zu %12.2f %12.2f %10.2f\n", name.c_str(), report.nodes, report.steps,
                static_cast<double>(bytes) * 1e-6, static_cast<double>(report.arena_bytes) * 1e-6, best);
  };
  row("none");
  passes.clear();
  for (const tyto::PassDescription& pass : tyto::graph_passes()) {
    if (!pass.on) continue;
    passes += (passes.empty() ? "" : ",") + pass.name;
    row(pass.name);
  }
}
