// One training step of the network of examples/mnist, with the graph's passes added one after the other: nodes, steps,
// bytes moved, memory, time.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace {

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

constexpr std::int64_t batch = 100;

struct Step {
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
Step record() {
  const nn::Initialiser glorot = nn::glorot_uniform;
  const nn::Sequential model{nn::Conv2d({.in = 1, .out = 32, .window = 5, .padding = tyto::same, .initial = glorot}),
                             tyto::relu,
                             nn::MaxPool(2),
                             nn::Dropout(0.1),
                             nn::Flatten(),
                             nn::Linear({.in = 14 * 14 * 32, .out = 1024, .initial = glorot}),
                             tyto::relu,
                             nn::Linear({.in = 1024, .out = 10, .initial = glorot})};
  Step step;
  std::vector<Tensor> parameters;
  for (const tyto::Value& parameter : model.parameters()) parameters.emplace_back(parameter);
  auto objective = [&](Tensor x, Tensor t) { return cross_entropy(model(x, nn::training), t); };
  auto [loss, gradients] = tyto::value_and_grad(objective, parameters)(step.x, step.t);
  step.loss = loss;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& weight = parameters[i];
    const Tensor sum = Tensor::persistent(zeros_like(weight));
    const Tensor next = sum + gradients[i] * gradients[i];
    step.updates.push_back({sum, next});
    step.updates.push_back({weight, weight - 0.005f * gradients[i] / sqrt(next + 1e-6f)});
  }
  return step;
}

}  // namespace

int main() {
  const Step step = record();
  std::printf("%-14s %8s %8s %12s %12s %10s\n", "passes up to", "nodes", "steps", "MB moved", "MB arena", "ms");
  std::string passes = "none";
  const auto row = [&](const std::string& name) {
    tyto::Graph graph = step.graph(passes);
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
