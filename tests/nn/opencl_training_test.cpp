// SPDX-License-Identifier: MIT
// Training of convolutional networks on an OpenCL device: everything runs there, and the losses are the CPU's.
#include <doctest/doctest.h>

#include <string>
#include <tyto/autodiff.hpp>
#include <tyto/device.hpp>
#include <tyto/elementwise.hpp>
#include <tyto/graph.hpp>
#include <tyto/nn.hpp>
#include <tyto/reduce.hpp>
#include <tyto/shaping.hpp>
#include <vector>

namespace tyto::nn {
namespace opencl_training_test {
namespace {

using T = Tensor<Lazy>;

struct Training {
  std::vector<float> losses;
  std::vector<std::string> fallbacks;
};

/// Some steps of the network of the MNIST example, made small.
Training train_on(const std::string& device_name) {
  const DeviceScope device(device_name);
  seed(5);
  const Sequential model{Conv2d({.in = 1, .out = 16, .window = 5, .padding = same}),
                         relu,
                         MaxPool(2),
                         Dropout(0.1),
                         Flatten(),
                         Linear({.in = 5 * 5 * 16, .out = 24}),
                         relu,
                         Linear({.in = 24, .out = 10})};
  Descent descent = adagrad({.rate = 0.05});
  const auto objective = [&](T images, T labels) { return cross_entropy(model(images, training), labels); };
  auto step = compile([&](T images, T labels) {
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(images, labels);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  std::vector<float> pixels(6 * 10 * 10);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  const T images = T::from(pixels, {6, 10, 10, 1});
  const T labels = T::from(std::vector<std::int64_t>{3, 1, 4, 1, 5, 9}, {6});
  Training result;
  for (int i = 0; i < 4; ++i) result.losses.push_back(step(images, labels).item<float>());
  result.fallbacks = step.report().fallbacks;
  return result;
}

}  // namespace

TEST_CASE("a training step of convolutions, pooling and cross-entropy never leaves the OpenCL device") {
  if (devices().size() < 2) return;
  const Training opencl = train_on("opencl"), cpu = train_on("cpu");
  CHECK(opencl.fallbacks.empty());
  REQUIRE(opencl.losses.size() == cpu.losses.size());
  CHECK(cpu.losses.back() < cpu.losses.front());
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    CHECK(opencl.losses[i] == doctest::Approx(cpu.losses[i]).epsilon(1e-4));
  }
}

}  // namespace opencl_training_test
}  // namespace tyto::nn
