// SPDX-License-Identifier: MIT
// ResNet-50 as bottlenecks: 1x1, 3x3 and 1x1 convolutions round a shortcut.
#include <optional>
#include <tyto/elementwise.hpp>
#include <tyto/nn/convolution.hpp>
#include <tyto/nn/linear.hpp>
#include <tyto/nn/normalisation.hpp>
#include <tyto/nn/pooling.hpp>

#include "networks.hpp"

namespace nn = tyto::nn;

namespace {

using Tensor = tyto::Tensor<tyto::Any>;

nn::Conv2d convolution(std::int64_t in, std::int64_t out, int window, int stride) {
  return nn::Conv2d({.in = in,
                     .out = out,
                     .window = window,
                     .stride = stride,
                     .padding = window / 2,
                     .bias = false,
                     .initial = nn::he_normal});
}

struct Bottleneck : nn::Layer {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm2d bn1, bn2, bn3;
  std::optional<nn::Sequential> downsample;

  Bottleneck(std::int64_t in, std::int64_t width, int stride)
      : conv1(convolution(in, width, 1, 1)),
        conv2(convolution(width, width, 3, stride)),
        conv3(convolution(width, 4 * width, 1, 1)),
        bn1({.channels = width}),
        bn2({.channels = width}),
        bn3({.channels = 4 * width}) {
    if (stride == 1 && in == 4 * width) return;
    downsample = nn::Sequential{convolution(in, 4 * width, 1, stride), nn::BatchNorm2d({.channels = 4 * width})};
  }
  Tensor forward(const Tensor& x, nn::Phase phase) const override {
    const Tensor first = relu(bn1(conv1(x, phase), phase));
    const Tensor second = relu(bn2(conv2(first, phase), phase));
    const Tensor shortcut = downsample ? (*downsample)(x, phase) : x;
    return relu(bn3(conv3(second, phase), phase) + shortcut);
  }
  nn::Members members() const override {
    nn::Members list{{"conv1", conv1}, {"bn1", bn1}, {"conv2", conv2}, {"bn2", bn2}, {"conv3", conv3}, {"bn3", bn3}};
    if (downsample) list.emplace_back("downsample", *downsample);
    return list;
  }
};

nn::Sequential stage(std::int64_t in, std::int64_t width, int blocks, int stride) {
  std::vector<nn::Step> steps{Bottleneck(in, width, stride)};
  for (int i = 1; i < blocks; ++i) steps.emplace_back(Bottleneck(4 * width, width, 1));
  return nn::Sequential(std::move(steps));
}

}  // namespace

nn::Sequential make_resnet50() {
  return {{"conv1", convolution(3, 64, 7, 2)},
          {"bn1", nn::BatchNorm2d({.channels = 64})},
          tyto::relu,
          nn::MaxPool(3, {.stride = 2, .padding = 1}),
          {"layer1", stage(64, 64, 3, 1)},
          {"layer2", stage(256, 128, 4, 2)},
          {"layer3", stage(512, 256, 6, 2)},
          {"layer4", stage(1024, 512, 3, 2)},
          nn::GlobalAveragePool(),
          {"fc", nn::Linear({.in = 2048, .out = 1000})}};
}
