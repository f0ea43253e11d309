// SPDX-License-Identifier: MIT
// Residual blocks, stages of them, and whole networks.
#include "network.hpp"

#include <stdexcept>
#include <string>
#include <tyto/elementwise.hpp>
#include <tyto/nn/convolution.hpp>
#include <tyto/nn/linear.hpp>
#include <tyto/nn/normalisation.hpp>
#include <tyto/nn/pooling.hpp>

namespace nn = tyto::nn;

namespace {

constexpr std::int64_t deep = 18;

nn::Conv2d convolution(std::int64_t in, std::int64_t out, int window, int stride) {
  return nn::Conv2d({.in = in,
                     .out = out,
                     .window = window,
                     .stride = stride,
                     .padding = window / 2,  // as PyTorch pads, so that its weights could be loaded
                     .bias = false,          // the norm that follows has one
                     .initial = nn::he_normal});
}

nn::Sequential block(std::int64_t in, std::int64_t out, int stride) {
  nn::Sequential body{convolution(in, out, 3, stride), nn::BatchNorm2d({.channels = out}), tyto::relu,
                      convolution(out, out, 3, 1), nn::BatchNorm2d({.channels = out})};
  if (stride == 1 && in == out) return {nn::Residual(std::move(body)), tyto::relu};
  nn::Sequential shortcut{convolution(in, out, 1, stride), nn::BatchNorm2d({.channels = out})};
  return {nn::Residual(std::move(body), std::move(shortcut)), tyto::relu};
}

}  // namespace

std::int64_t usual_width(std::int64_t depth) { return depth == deep ? 64 : 16; }

nn::Sequential make_resnet(std::int64_t depth, std::int64_t width, std::int64_t classes) {
  if (depth != deep && (depth < 8 || depth % 6 != 2)) {
    throw std::invalid_argument("--depth: " + std::to_string(depth) + " is neither 18 nor one of 8, 14, 20, 26, ...");
  }
  const std::int64_t stages = depth == deep ? 4 : 3;
  const std::int64_t blocks = depth == deep ? 2 : (depth - 2) / 6;
  std::vector<nn::Step> steps{convolution(3, width, 3, 1), nn::BatchNorm2d({.channels = width}), tyto::relu};
  std::int64_t channels = width;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t out = width << stage;
    for (std::int64_t i = 0; i < blocks; ++i) {
      // Each stage but the first begins by halving the picture.
      steps.emplace_back(block(channels, out, stage > 0 && i == 0 ? 2 : 1));
      channels = out;
    }
  }
  steps.emplace_back(nn::GlobalAveragePool());
  steps.emplace_back(nn::Linear({.in = channels, .out = classes}));
  return nn::Sequential(std::move(steps));
}
