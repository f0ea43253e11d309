// SPDX-License-Identifier: MIT
// ResNet-50 or InceptionV3 names what a picture shows: weights by torchvision's names, time, memory plan and profile.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <tyto/images.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"
#include "examples/run_in_mode.hpp"
#include "networks.hpp"

namespace nn = tyto::nn;

namespace {

struct Options {
  std::string network = "inception";
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string picture;
  std::string weights;
  std::string classes;
  std::string show = "result";
  std::int64_t runs = 5;
  std::uint64_t seed = 42;
};

CommandLine command_line(Options& options) {
  CommandLine line("inception", "Classifies a picture by InceptionV3 or ResNet-50.");
  line.choice("--network", options.network, {"inception", "resnet50"}, "InceptionV3 or ResNet-50")
      .choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--picture", options.picture, "FILE", "PNG or JPEG; without it noise")
      .text("--weights", options.weights, "FILE", "safetensors with torchvision's names; without it random weights")
      .text("--classes", options.classes, "FILE", "the names of the 1,000 classes, a line each")
      .choice("--show", options.show, {"result", "summary", "profile"}, "what to print beside the result")
      .number("--runs", options.runs, 1, "timed runs")
      .number("--seed", options.seed, 0, "random seed of weights and noise");
  return line;
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

struct Network {
  nn::Sequential model;
  std::int64_t side;  // of the pictures that it takes
  std::vector<nn::PictureTransform> transforms;
};

Network make_network(const std::string& name) {
  if (name == "resnet50") {
    return {make_resnet50(),
            224,
            {nn::resize(256), nn::centre_crop(224), nn::normalise({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F})}};
  }
  return {make_inception_v3(), 299, {nn::resize(342), nn::centre_crop(299), nn::normalise({0.5F}, {0.5F})}};
}

template <class Tensor>
Tensor read_picture(const Options& options, const Network& network) {
  if (options.picture.empty()) return Tensor::normal({1, network.side, network.side, 3});
  nn::Batches<Tensor> batches(nn::Pictures(tyto::ImageFolder{{options.picture}, {0}, {""}}, network.transforms),
                              {.size = 1});
  return batches.next()->first;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

template <class Tensor>
void run(const Options& options) {
  const tyto::DeviceScope device(options.device);
  tyto::seed(options.seed);
  const Network network = make_network(options.network);
  if (!options.weights.empty()) {
    // The classifier that helped in training is no part of the model.
    const auto rename = [](const std::string& name) { return name.rfind("AuxLogits.", 0) == 0 ? std::string() : name; };
    nn::load(network.model, options.weights, {.rename = rename, .layout = nn::WeightLayout::pytorch});
  }
  const Tensor picture = read_picture<Tensor>(options, network);
  auto classify = tyto::compile([&](Tensor x) { return softmax(network.model(x)); });

  std::vector<double> milliseconds;
  std::vector<float> probabilities;
  for (std::int64_t i = 0; i <= options.runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    probabilities = classify(picture).template to_vector<float>();
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  const std::vector<std::string> names =
      options.classes.empty() ? std::vector<std::string>() : read_lines(options.classes);
  std::vector<std::size_t> order(probabilities.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                    [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t number = order[i];
    std::printf("%7.3f %%  %s\n", 100 * static_cast<double>(probabilities[number]),
                number < names.size() ? names[number].c_str() : ("class " + std::to_string(number)).c_str());
  }
  std::printf("%s, %lld parameters, %s on %s: first run %.0f ms, then at best %.1f ms\n", options.network.c_str(),
              static_cast<long long>(nn::parameter_count(network.model)), options.mode.c_str(), options.device.c_str(),
              milliseconds[0], *std::min_element(milliseconds.begin() + 1, milliseconds.end()));
  if constexpr (std::is_same_v<typename Tensor::mode, tyto::Lazy>) {
    const tyto::MemoryPlan& plan = classify.plan();
    std::printf("plan: peak %.1f MiB (bound %.1f, without reuse %.1f) and %.1f MiB of states\n", mebibytes(plan.height),
                mebibytes(plan.bound), mebibytes(plan.naive),
                mebibytes(static_cast<std::int64_t>(classify.report().state_bytes)));
    if (options.show == "profile") std::cout << classify.profile(picture);
  }
  if (options.show == "summary") std::cout << nn::summary(network.model, {1, network.side, network.side, 3});
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("inception", command_line(options), count, words, options.mode, [&]<class Tensor>() {
    run<Tensor>(options);
    return 0;
  });
}
