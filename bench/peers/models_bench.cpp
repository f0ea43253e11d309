// SPDX-License-Identifier: MIT
// Networks as users write them, one at a time, with the weights and inputs that models_peers.py made: it runs this
// program by turns with PyTorch and ONNX Runtime and compares what they compute.
//
//   models_bench NAME FOLDER SECONDS [report|sharded]
//
// Reads FOLDER/NAME.weights.npz and FOLDER/NAME.inputs.npz, writes FOLDER/NAME.tyto.npy: what an inference gives, or
// the losses of the first steps of a training. Prints seconds until the first result, milliseconds of the best and the
// median run, the growth of the process's peak memory in bytes, that peak, and milliseconds of processor time of a run.
// Started as several processes, each trains on its part of the batch (ranks_peers.py): memory is then that of the
// process with the most, and processor time that of all. "report": rank 0 says what report() does of the training step,
// on stderr; "sharded": the same, with the optimizer's states in parts (ZeRO-1).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <tyto/distributed.hpp>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/process_usage.hpp"
#include "examples/gpt/model.hpp"
#include "examples/inception/networks.hpp"
#include "examples/resnet/network.hpp"

namespace {

namespace nn = tyto::nn;
namespace distributed = tyto::distributed;
using tyto::bench::peak_bytes;
using tyto::bench::processor_seconds;
using tyto::bench::wall_seconds;
using Tensor = tyto::Tensor<tyto::Lazy>;
using Inputs = tyto::NamedList<Tensor>;

constexpr std::int64_t compared_steps = 4;

double of_all(double number, distributed::Reduce how) {
  return distributed::all_reduce(Tensor(std::vector<double>{number}), how).item<double>();
}

/// One run after the other; the results of the first `kept` are joined to one tensor.
struct Measured {
  double first_seconds = 0;
  std::vector<double> seconds;
  std::vector<Tensor> results;
  double busy_seconds = 0;  // of a run, after the first ones
};

/// Runs for about so many seconds: as often on all processes.
Measured measure(double seconds, std::int64_t kept, const std::function<Tensor()>& run) {
  Measured measured;
  const double start = wall_seconds();
  double before = start;
  const auto one = [&] {
    const Tensor result = run();
    result.data<float>();
    const double now = wall_seconds();
    if (measured.seconds.empty()) measured.first_seconds = now - start;
    if (static_cast<std::int64_t>(measured.results.size()) < kept) measured.results.push_back(result);
    measured.seconds.push_back(now - before);
    before = now;
  };
  for (std::int64_t i = 0; i < kept + 2; ++i) one();
  const double left = (seconds - (before - start)) / measured.seconds.back();
  const auto runs = static_cast<std::int64_t>(of_all(std::max(1.0, left), distributed::Reduce::max));
  const double busy = processor_seconds();
  before = wall_seconds();
  for (std::int64_t i = 0; i < runs; ++i) one();
  measured.busy_seconds = (processor_seconds() - busy) / static_cast<double>(runs);
  return measured;
}

void load_weights(const nn::Module& model, const std::string& weights) {
  const nn::LoadReport report = nn::load(model, weights, {.layout = nn::WeightLayout::pytorch, .strict = false});
  if (report.missing.empty()) return;
  throw tyto::IoError(weights + ": has no " + report.missing.front());
}

Measured infer(const nn::Layer& model, const Inputs& inputs, double seconds) {
  auto forward = tyto::compile([&](Tensor x) { return model(x); });
  return measure(seconds, 1, [&] { return forward(inputs["x"]); });
}

Measured train(const nn::Layer& model, nn::Descent descent, const Inputs& inputs, double seconds,
               const std::string& how) {
  const bool sharded = how == "sharded";
  if (sharded) descent.shard();
  auto objective = [&](Tensor x, Tensor t) {
    const Tensor scores = model(x, nn::training);
    const std::int64_t classes = scores.shape().back();
    return cross_entropy(reshape(scores, {-1, classes}), reshape(t, {-1}));
  };
  auto step = tyto::compile([&](Tensor x, Tensor t) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
    const std::int64_t samples = x.shape()[0];
    if (sharded) descent.update(model.parameters(), distributed::weighted(gradients, samples));
    else descent.update(model.parameters(), distributed::average(gradients, samples));
    return distributed::average(loss, samples);
  });
  const distributed::Group group = distributed::start();
  const auto part = [&](const Tensor& all) {
    const std::int64_t size = all.shape()[0];
    return all(tyto::slice(size * group.rank() / group.size(), size * (group.rank() + 1) / group.size()));
  };
  const Tensor x = part(inputs["x"]), t = part(inputs["t"]);
  tyto::eval({x, t});
  Measured measured = measure(seconds, compared_steps, [&] { return step(x, t); });
  if (!how.empty() && group.is_first()) std::cerr << step.report();
  return measured;
}

nn::Conv2d convolution(std::int64_t in, std::int64_t out, int window, int stride, int groups = 1) {
  return nn::Conv2d({.in = in,
                     .out = out,
                     .window = window,
                     .stride = stride,
                     .padding = window / 2,
                     .groups = groups,
                     .bias = false});
}

tyto::Tensor<tyto::Any> relu6(const tyto::Tensor<tyto::Any>& x) { return clip(x, 0, 6); }

/// Sandler et al. (2018): wide inside, narrow between blocks, a shortcut where the shape stays.
nn::Step inverted_residual(std::int64_t in, std::int64_t out, int stride, std::int64_t expansion) {
  const std::int64_t wide = in * expansion;
  std::vector<nn::Step> steps;
  if (expansion != 1) steps = {convolution(in, wide, 1, 1), nn::BatchNorm2d({.channels = wide}), relu6};
  for (nn::Step& step : std::vector<nn::Step>{convolution(wide, wide, 3, stride, static_cast<int>(wide)),
                                              nn::BatchNorm2d({.channels = wide}), relu6, convolution(wide, out, 1, 1),
                                              nn::BatchNorm2d({.channels = out})}) {
    steps.push_back(std::move(step));
  }
  nn::Sequential body(std::move(steps));
  if (stride == 1 && in == out) return nn::Residual(std::move(body));
  return body;
}

nn::Sequential make_mobilenet_v2() {
  std::vector<nn::Step> steps{convolution(3, 32, 3, 2), nn::BatchNorm2d({.channels = 32}), relu6};
  struct Stage {
    std::int64_t expansion, out;
    int blocks, stride;
  };
  std::int64_t in = 32;
  for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                             Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
    for (int i = 0; i < stage.blocks; ++i) {
      steps.push_back(inverted_residual(in, stage.out, i == 0 ? stage.stride : 1, stage.expansion));
      in = stage.out;
    }
  }
  for (nn::Step& step : std::vector<nn::Step>{convolution(in, 1280, 1, 1), nn::BatchNorm2d({.channels = 1280}), relu6,
                                              nn::GlobalAveragePool(), nn::Linear({.in = 1280, .out = 1000})}) {
    steps.push_back(std::move(step));
  }
  return nn::Sequential(std::move(steps));
}

/// examples/mnist without its dropout, in PyTorch's order of axes where the picture becomes a vector.
nn::Sequential make_mnist() {
  return {nn::Conv2d({.in = 1, .out = 32, .window = 5, .padding = 2}),
          nn::ReLU(),
          nn::MaxPool(2),
          nn::Flatten(tyto::nchw),
          nn::Linear({.in = 14 * 14 * 32, .out = 1024}),
          nn::ReLU(),
          nn::Linear({.in = 1024, .out = 10})};
}

/// Reads a sequence and tells its class by what is remembered at the end.
struct SequenceClassifier : nn::Layer {
  nn::LSTM lstm{{.in = 40, .hidden = 128}};
  nn::Linear head{{.in = 128, .out = 10}};

  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& x, nn::Phase phase) const override {
    return head(lstm(x, phase)(tyto::all, -1), phase);
  }
  nn::Members members() const override { return {{"lstm", lstm}, {"head", head}}; }
};

const GptOptions gpt_options{.symbols = 256, .length = 128, .features = 256, .heads = 8, .layers = 4};

/// One sequence written place by place: the scores of all places.
Measured decode(const Gpt& model, const Inputs& inputs, double seconds) {
  auto next = tyto::compile(
      [&, caches = model.make_caches(1)](Tensor symbol, Tensor place) { return model.next(symbol, place, caches); });
  const std::int64_t length = gpt_options.length;
  std::vector<Tensor> places;
  for (std::int64_t i = 0; i < length; ++i) places.push_back(Tensor(i));
  return measure(seconds, 1, [&] {
    std::vector<Tensor> scores;
    for (std::int64_t i = 0; i < length; ++i) {
      const auto place = static_cast<std::size_t>(i);
      scores.push_back(next(inputs["x"](tyto::slice(i, i + 1)), places[place]));
    }
    return concat(scores, 0);
  });
}

Measured run(const std::string& name, const std::string& weights, const Inputs& inputs, double seconds,
             const std::string& how) {
  const auto infer_with = [&](const nn::Layer& model) {
    load_weights(model, weights);
    return infer(model, inputs, seconds);
  };
  const auto train_with = [&](const nn::Layer& model, nn::Descent descent) {
    load_weights(model, weights);
    return train(model, std::move(descent), inputs, seconds, how);
  };
  if (name.rfind("resnet50", 0) == 0) return infer_with(make_resnet50());
  if (name == "mobilenet_v2") return infer_with(make_mobilenet_v2());
  if (name == "encoder") {
    return infer_with(nn::TransformerEncoderLayer(
        {.features = 512, .heads = 8, .hidden = 2048, .activation = nn::BlockActivation::gelu}));
  }
  if (name == "mnist_step") return train_with(make_mnist(), nn::adagrad({.rate = 0.005}));
  if (name == "resnet18_step") return train_with(make_resnet(18, 64, 10), nn::sgd({.rate = 0.01, .momentum = 0.9}));
  if (name == "gpt_step") return train_with(Gpt(gpt_options), nn::adam({.rate = 0.001}));
  if (name == "lstm_step") return train_with(SequenceClassifier(), nn::adam({.rate = 0.001}));
  if (name == "gpt_decoding") {
    const Gpt model(gpt_options);
    load_weights(model, weights);
    return decode(model, inputs, seconds);
  }
  throw tyto::ValueError("no network is called '" + name + "'");
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count == 5 ? words[4] : "";
  if (count != 4 && how != "report" && how != "sharded") {
    std::fprintf(stderr, "usage: models_bench NAME FOLDER SECONDS [report|sharded]; models_peers.py calls it\n");
    return 2;
  }
  try {
    const distributed::Group group = distributed::start();
    const std::string base = std::string(words[2]) + "/" + words[1];
    const Inputs inputs = tyto::read_npz<Tensor>(base + ".inputs.npz");
    const double before = peak_bytes();
    Measured measured = run(words[1], base + ".weights.npz", inputs, std::atof(words[3]), how);
    const double grown = of_all(peak_bytes() - before, distributed::Reduce::max);
    const double peak = of_all(peak_bytes(), distributed::Reduce::max);
    const double busy = of_all(measured.busy_seconds, distributed::Reduce::sum);
    if (!group.is_first()) return 0;
    std::vector<double> times(measured.seconds.begin() + 1, measured.seconds.end());
    std::sort(times.begin(), times.end());
    tyto::write_npy(base + ".tyto.npy", measured.results.size() == 1 ? measured.results[0] : stack(measured.results));
    std::printf("%.6g %.6g %.6g %.0f %.0f %.6g\n", measured.first_seconds, times.front() * 1e3,
                times[times.size() / 2] * 1e3, grown, peak, busy * 1e3);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "models_bench: %s\n", error.what());
    return 1;
  }
}
