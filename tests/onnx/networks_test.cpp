// SPDX-License-Identifier: MIT
// The networks of examples/ written as ONNX with their weights, and read again; one of them with its training step.
#include <tyto/nn.hpp>

#include "examples/gpt/model.hpp"
#include "examples/inception/networks.hpp"
#include "examples/resnet/network.hpp"
#include "tests/onnx/written.hpp"

namespace tyto::onnx_tests {
namespace {

using L = Tensor<Lazy>;

// Rounding grows with depth: what real models with real weights are held to.
constexpr WrittenTolerance within{.relative = 1e-3, .absolute = 0, .of_largest = 1e-4};

Tensor<Eager> pictures(const Shape& shape) { return Tensor<Eager>::uniform(shape, {.low = -1, .high = 1}); }

/// In inference, written as a function of one input.
void check_network(const std::string& name, const nn::Layer& network, const Tensor<Eager>& given) {
  const L x = L::placeholder(given.shape(), given.dtype(), "x");
  check_written("network_" + name, x, given, {network(x, nn::inference)}, within);
}

/// A block of MobileNetV2: wider, each channel by itself, narrower.
nn::Sequential inverted_residual(std::int64_t in, std::int64_t out, int stride) {
  return nn::Sequential{nn::Conv2d({.in = in, .out = 4 * in, .window = 1, .bias = false}),
                        nn::BatchNorm2d({.channels = 4 * in}),
                        nn::ReLU6(),
                        nn::DepthwiseConv2d({.channels = 4 * in, .stride = stride, .padding = 1, .bias = false}),
                        nn::BatchNorm2d({.channels = 4 * in}),
                        nn::ReLU6(),
                        nn::Conv2d({.in = 4 * in, .out = out, .window = 1, .bias = false}),
                        nn::BatchNorm2d({.channels = out})};
}

}  // namespace

TEST_CASE("networks of pictures come back from ONNX as they were") {
  seed(21);
  check_network("resnet20", make_resnet(20, 16, 10), pictures({2, 32, 32, 3}));
  check_network("resnet50", make_resnet50(), pictures({1, 64, 64, 3}));
  check_network("inception_v3", make_inception_v3(), pictures({1, 96, 96, 3}));
  check_network("mobile",
                nn::Sequential{nn::Conv2d({.in = 3, .out = 8, .stride = 2, .padding = 1}), nn::ReLU6(),
                               nn::Residual(inverted_residual(8, 8, 1)), inverted_residual(8, 12, 2),
                               nn::GlobalAveragePool(), nn::Linear({.in = 12, .out = 10})},
                pictures({2, 32, 32, 3}));
  check_network("digits",
                nn::Sequential{nn::Conv2d({.in = 1, .out = 32, .window = 5}), relu, nn::MaxPool(2), nn::Dropout(0.1),
                               nn::Flatten(), nn::Linear({.in = 12 * 12 * 32, .out = 128}), relu,
                               nn::Linear({.in = 128, .out = 10}), nn::Softmax()},
                pictures({3, 28, 28, 1}));
  check_network(
      "autoencoder",
      nn::Sequential{nn::Conv2d({.in = 3, .out = 8, .stride = 2, .padding = 1}), nn::SiLU(),
                     nn::ConvTranspose2d({.in = 8, .out = 3, .window = 4, .stride = 2, .padding = 1}), nn::Sigmoid()},
      pictures({2, 16, 16, 3}));
}

TEST_CASE("networks of sequences come back from ONNX as they were") {
  seed(22);
  const Tensor<Eager> symbols = floor(Tensor<Eager>::uniform({2, 12}, {.low = 0, .high = 26.99})).astype(DType::i64);
  check_network("gpt", Gpt({.symbols = 27, .length = 16, .features = 32, .heads = 4, .layers = 2}), symbols);
  check_network("char_rnn",
                nn::Sequential{nn::Embedding({.count = 27, .features = 8}), nn::LSTM({.in = 8, .hidden = 16}),
                               nn::Linear({.in = 16, .out = 27})},
                symbols);
}

TEST_CASE("a network's training step is written: the loss and the gradients, with batches' own statistics") {
  seed(23);
  const nn::Sequential network = make_resnet(8, 4, 10);
  const L x = L::placeholder({4, 16, 16, 3}, DType::f32, "x");
  const L labels = L{1, 4, 9, 0}.astype(DType::i64);
  const std::vector<Tensor<Any>> parameters = network.parameters();
  const auto [loss, gradients] =
      value_and_grad([&](const L& in) { return cross_entropy(network(in, nn::training), labels); }, parameters)(x);
  std::vector<L> outputs{loss};
  for (const Tensor<Any>& gradient : gradients) outputs.emplace_back(gradient.value());
  check_written("network_training", x, pictures({4, 16, 16, 3}), outputs, within);
}

}  // namespace tyto::onnx_tests
