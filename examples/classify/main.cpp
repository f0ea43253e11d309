// SPDX-License-Identifier: MIT
// Names what a photograph shows: a classifier from an ONNX file, a picture, and its likeliest classes as bars.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <tyto/images.hpp>
#include <tyto/nn.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

namespace {

struct Options {
  std::string model;
  std::string picture;
  std::string classes;
  std::string device = "cpu";
  std::int64_t top = 5;
  float mean = 127.0F / 255;
  float deviation = 128.0F / 255;
};

CommandLine command_line(Options& options) {
  CommandLine line("classify", "Names what a photograph shows, by a classifier such as efficientnet_lite0.onnx.");
  line.text("--model", options.model, "FILE", "the classifier, an ONNX file of one picture to one row of scores")
      .text("--picture", options.picture, "FILE", "PNG or JPEG")
      .text("--classes", options.classes, "FILE", "names of the classes, a line each; without it they are numbers")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .number("--top", options.top, 1, "how many classes to print")
      .number("--mean", options.mean, 0, "mean of the colours, which lie between 0 and 1")
      .number("--deviation", options.deviation, 0, "standard deviation of the colours");
  return line;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Order of the axes and side of the pictures that a classifier takes.
struct PictureLayout {
  bool channels_first;
  int side;
};

PictureLayout layout_of(const tyto::ModelTensor& input) {
  if (!input.shape || input.shape->size() != 4) throw tyto::ValueError("the model takes no picture: " + input.name);
  const auto length = [&](std::size_t axis) { return (*input.shape)[axis].length; };
  const bool first = length(1) == 3;
  if (!first && length(3) != 3) throw tyto::ValueError("the model takes no picture of 3 colours: " + input.name);
  return {first, static_cast<int>(length(2).value_or(224))};
}

/// A centre crop of 7/8 of the shorter side, as these models were trained.
Tensor read_picture(const Options& options, const PictureLayout& layout) {
  const nn::Pictures pictures({{options.picture}, {0}, {""}},
                              {nn::resize(layout.side * 8 / 7), nn::centre_crop(layout.side),
                               nn::normalise({options.mean}, {options.deviation})});
  const Tensor picture = nn::Batches<Tensor>(pictures, {.size = 1}).next()->first;
  return layout.channels_first ? transpose(picture, {0, 3, 1, 2}) : picture;
}

void print_classes(const std::vector<float>& probabilities, const Options& options) {
  const auto names = options.classes.empty() ? std::vector<std::string>() : read_lines(options.classes);
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(order.size(), static_cast<std::size_t>(options.top));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  for (std::size_t i = 0; i < count; ++i) {
    const double probability = static_cast<double>(probabilities[order[i]]);
    const std::string name = order[i] < names.size() ? names[order[i]] : "class " + std::to_string(order[i]);
    std::string bar;
    for (int part = 0; part < 20; ++part) bar += probability * 20 > part + 0.5 ? "█" : "·";
    std::printf("%s %6.2f %%  %s\n", bar.c_str(), 100 * probability, name.c_str());
  }
}

void classify(const Options& options) {
  if (options.model.empty() || options.picture.empty()) {
    throw std::invalid_argument("--model and --picture are needed; see --help");
  }
  const tyto::DeviceScope device(options.device);
  auto model = tyto::read_onnx<Tensor>(options.model);
  if (model.inputs().size() != 1) throw tyto::ValueError(options.model + ": takes more than a picture");
  const tyto::ModelTensor& input = model.inputs().front();
  const Tensor picture = read_picture(options, layout_of(input));
  const auto start = std::chrono::steady_clock::now();
  const Tensor scores = model({{input.name, picture}})[0].value.reshape({-1});
  // Some models end with a softmax of their own; its sums are 1 already.
  const bool are_probabilities = std::abs(scores.sum().item<float>() - 1) < 1e-3F && scores.min().item<float>() >= 0;
  const auto probabilities = (are_probabilities ? scores : softmax(scores)).to_vector<float>();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  print_classes(probabilities, options);
  std::printf("compiled and run in %.0f ms; planned memory %.1f MiB (bound %.1f, without reuse %.1f)\n", time.count(),
              static_cast<double>(model.plan().height) / (1 << 20), static_cast<double>(model.plan().bound) / (1 << 20),
              static_cast<double>(model.plan().naive) / (1 << 20));
}

}  // namespace

int main(int count, char** words) {
  try {
    Options options;
    if (command_line(options).parse(count, words)) classify(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "classify: " << error.what() << '\n';
    return 1;
  }
}
