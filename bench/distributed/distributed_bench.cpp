// SPDX-License-Identifier: MIT
// A training step of dense layers on the processes that were started together, each with a batch of its own.
//
//   distributed_bench [LAYERS FEATURES BATCH SECONDS [apart]]
//
// "apart": nothing is averaged; processes begin each step together, and share the cores of their machine. Rank 0
// prints what report() says, and milliseconds of the best and the median step as "step BEST median MEDIAN".
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/process_usage.hpp"

namespace {

namespace nn = tyto::nn;
namespace distributed = tyto::distributed;
using tyto::bench::wall_seconds;
using Tensor = tyto::Tensor<tyto::Lazy>;

void train(std::int64_t layers, std::int64_t features, std::int64_t batch, double seconds, bool apart) {
  const distributed::Group group = distributed::start();
  std::vector<nn::Step> steps;
  for (std::int64_t i = 0; i < layers; ++i) {
    steps.push_back(nn::Linear({.in = features, .out = features}));
    steps.push_back(nn::ReLU());
  }
  const nn::Sequential model(std::move(steps));
  nn::Descent descent = nn::sgd({.rate = 0.001});
  auto objective = [&](Tensor x) { return mean(square(model(x, nn::training))); };
  auto step = tyto::compile([&](Tensor x) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x);
    descent.update(model.parameters(), apart ? gradients : distributed::average(gradients, batch));
    return apart ? distributed::barrier(loss) : distributed::average(loss, batch);
  });
  distributed::broadcast_states(model.parameters());
  const Tensor x = Tensor::ones({batch, features});
  std::vector<double> times;
  const auto one = [&] {
    const double begin = wall_seconds();
    step(x).item<float>();
    times.push_back(wall_seconds() - begin);
  };
  constexpr int first_steps = 3;  // before connections are as fast as they get
  for (int i = 0; i < first_steps; ++i) one();
  const Tensor wanted = Tensor::full({}, std::max(1.0, seconds / times.back()));
  const double runs = distributed::broadcast(wanted).item<float>();
  times.clear();
  for (int i = 0; i < static_cast<int>(runs); ++i) one();
  std::sort(times.begin(), times.end());
  if (group.is_first()) {
    std::cout << step.report();
    std::printf("step %.3f median %.3f\n", times.front() * 1e3, times[times.size() / 2] * 1e3);
  }
}

}  // namespace

int main(int count, char** words) {
  const bool is_given = count >= 5;
  if ((count > 1 && !is_given) || count > 6 || (count == 6 && std::string(words[5]) != "apart")) {
    std::fputs("usage: distributed_bench [LAYERS WIDTH BATCH SECONDS [apart]]\n", stderr);
    return 2;
  }
  try {
    train(is_given ? std::atol(words[1]) : 4, is_given ? std::atol(words[2]) : 512,
          is_given ? std::atol(words[3]) : 256, is_given ? std::atof(words[4]) : 2, count == 6);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "distributed_bench: %s\n", error.what());
    return 1;
  }
}
