// SPDX-License-Identifier: MIT
// Every layer of nn written as ONNX and read again, and networks of layers: the files hold their weights.
#include <functional>
#include <utility>

#include <tyto/nn.hpp>

#include "tests/onnx/written.hpp"

namespace tyto::onnx_tests {
namespace {

using L = Tensor<Lazy>;

/// Numbers for all states, so that none is the 0 or 1 at which it began; variances stay positive.
void give_numbers(const nn::Module& module) {
  for (const Named<Tensor<Any>>& state : module.named_states()) {
    if (!is_floating(state.value.dtype())) continue;
    const Tensor<Any> numbers = Tensor<Any>::uniform(state.value.shape(), {.low = 0.1, .high = 0.4});
    assign(state.value, state.value * 0.5 + numbers);
  }
}

struct Example {
  std::string name;
  std::function<L(const L&)> function;
  Tensor<Eager> x;
};

/// A layer that is given numbers, in inference.
template <class Layer>
Example of(const std::string& name, Layer layer, const Shape& shape) {
  give_numbers(layer);
  return {name, [layer = std::move(layer)](const L& x) { return layer(x, nn::inference); },
          Tensor<Eager>::uniform(shape, {.low = -2, .high = 2})};
}

void check_examples(const std::vector<Example>& examples, const WrittenTolerance& tolerance = {}) {
  for (const Example& each : examples) {
    const L x = L::placeholder(each.x.shape(), each.x.dtype(), "x");
    check_written("layer_" + each.name, x, each.x, {each.function(x)}, tolerance);
  }
}

}  // namespace

TEST_CASE("linear layers, embeddings and convolutions are written with their weights") {
  seed(7);
  const nn::Embedding embedding({.count = 6, .features = 3});
  const nn::Bilinear bilinear({.left = 3, .right = 2, .out = 4});
  give_numbers(bilinear);
  check_examples({
      of("linear", nn::Linear({.in = 3, .out = 4}), {2, 3}),
      of("linear_without_bias", nn::Linear({.in = 3, .out = 4, .bias = false}), {2, 5, 3}),
      {"embedding", [&](const L& i) { return embedding(i); }, Tensor<Eager>{{0, 5, 2}, {1, 1, 4}}.astype(DType::i64)},
      {"bilinear", [&](const L& x) { return bilinear(x(all, slice(0, 3)), x(all, slice(3, 5))); },
       Tensor<Eager>::normal({2, 5})},
      of("conv1d", nn::Conv1d({.in = 3, .out = 4, .padding = 1}), {2, 7, 3}),
      of("conv2d", nn::Conv2d({.in = 3, .out = 4, .window = {3, 2}, .stride = {2, 1}, .padding = same}), {2, 7, 8, 3}),
      of("conv2d_groups", nn::Conv2d({.in = 4, .out = 6, .dilation = 2, .groups = 2, .bias = false}), {1, 8, 7, 4}),
      of("conv3d", nn::Conv3d({.in = 2, .out = 3, .window = 2}), {1, 4, 5, 3, 2}),
      of("depthwise", nn::DepthwiseConv2d({.channels = 3, .multiplier = 2, .padding = 1}), {1, 5, 6, 3}),
      of("separable", nn::SeparableConv2d({.in = 3, .out = 4, .padding = 1}), {1, 5, 6, 3}),
      of("conv_transpose1d", nn::ConvTranspose1d({.in = 3, .out = 4, .stride = 2}), {2, 5, 3}),
      of("conv_transpose2d", nn::ConvTranspose2d({.in = 3, .out = 2, .stride = 2, .padding = 1, .output_padding = 1}),
         {2, 5, 4, 3}),
      of("conv_transpose2d_dilated", nn::ConvTranspose2d({.in = 4, .out = 4, .window = 2, .dilation = 2, .groups = 2}),
         {1, 5, 4, 4}),
      of("conv_transpose3d", nn::ConvTranspose3d({.in = 2, .out = 2, .window = 2, .stride = 2}), {1, 3, 4, 2, 2}),
  });
}

TEST_CASE("norms are written with their weights and statistics") {
  seed(8);
  check_examples({
      of("batch_norm1d", nn::BatchNorm1d({.channels = 3}), {4, 5, 3}),
      of("batch_norm2d", nn::BatchNorm2d({.channels = 3, .epsilon = 1e-3}), {2, 4, 5, 3}),
      of("batch_norm2d_plain", nn::BatchNorm2d({.channels = 3, .affine = false}), {2, 4, 5, 3}),
      of("batch_norm2d_untracked", nn::BatchNorm2d({.channels = 3, .track = false}), {2, 4, 5, 3}),
      of("batch_norm3d", nn::BatchNorm3d({.channels = 2}), {2, 3, 4, 2, 2}),
      of("instance_norm", nn::InstanceNorm({.channels = 3, .affine = true}), {2, 4, 5, 3}),
      of("instance_norm_tracked", nn::InstanceNorm({.channels = 3, .affine = true, .track = true}), {2, 4, 5, 3}),
      of("group_norm", nn::GroupNorm({.channels = 4, .groups = 2}), {2, 3, 5, 4}),
      of("layer_norm", nn::LayerNorm({.shape = {5}}), {2, 3, 5}),
      of("layer_norm_axes", nn::LayerNorm({.shape = {3, 5}, .bias = false}), {2, 3, 5}),
      of("rms_norm", nn::RMSNorm({.shape = {5}}), {2, 3, 5}),
  });
}

TEST_CASE("layers that change space are written") {
  seed(9);
  check_examples({
      of("max_pool", nn::MaxPool(3, {.stride = 2, .padding = 1}), {2, 7, 8, 3}),
      of("average_pool", nn::AveragePool(3, {.stride = 1, .padding = 1}), {2, 5, 6, 3}),
      of("adaptive_average_pool", nn::AdaptiveAveragePool({2, 3}), {2, 7, 8, 3}),
      of("adaptive_max_pool", nn::AdaptiveMaxPool({2, 3}), {2, 7, 8, 3}),
      of("global_average_pool", nn::GlobalAveragePool(), {2, 4, 5, 3}),
      of("global_max_pool", nn::GlobalMaxPool(), {2, 4, 5, 3}),
      of("upsample_nearest", nn::Upsample(2), {2, 4, 5, 3}),
      of("upsample_bilinear", nn::Upsample({2, 3}, Resampling::bilinear), {2, 4, 5, 3}),
      of("pad_value", nn::Pad(Padding({0, 1}, {1, 2}), {.value = 2.5}), {2, 4, 5, 3}),
      of("pad_reflect", nn::Pad(2, {.mode = PaddingMode::reflect}), {2, 4, 5, 3}),
      of("pad_edge", nn::Pad(1, {.mode = PaddingMode::edge}), {2, 4, 5, 3}),
      of("pad_symmetric", nn::Pad(1, {.mode = PaddingMode::symmetric}), {2, 4, 5, 3}),
      of("pixel_shuffle", nn::PixelShuffle(2), {2, 3, 4, 8}),
      of("pixel_unshuffle", nn::PixelUnshuffle(2), {2, 4, 6, 3}),
      of("flatten", nn::Flatten(), {2, 4, 5, 3}),
      of("flatten_channels_first", nn::Flatten(nchw), {2, 4, 5, 3}),
      of("reshape", nn::Reshape({10, 6}), {2, 4, 5, 3}),
  });
}

TEST_CASE("activations are written") {
  seed(10);
  const Shape shape{3, 6};
  check_examples({
      of("relu", nn::ReLU(), shape),
      of("relu6", nn::ReLU6(), shape),
      of("leaky_relu", nn::LeakyReLU(0.2), shape),
      of("elu", nn::ELU(0.7), shape),
      of("selu", nn::SELU(), shape),
      of("celu", nn::CELU(0.7), shape),
      of("gelu", nn::GELU(), shape),
      of("gelu_tanh", nn::GELU(nn::GeluFormula::tanh), shape),
      of("silu", nn::SiLU(), shape),
      of("mish", nn::Mish(), shape),
      of("sigmoid", nn::Sigmoid(), shape),
      of("log_sigmoid", nn::LogSigmoid(), shape),
      of("tanh", nn::Tanh(), shape),
      of("softplus_beta", nn::Softplus(2), shape),
      of("softsign", nn::Softsign(), shape),
      of("hard_tanh", nn::Hardtanh(-1, 2), shape),
      of("hard_sigmoid", nn::Hardsigmoid(), shape),
      of("hard_swish", nn::Hardswish(), shape),
      of("tanh_shrink", nn::Tanhshrink(), shape),
      of("soft_shrink", nn::Softshrink(0.3), shape),
      of("hard_shrink", nn::Hardshrink(0.3), shape),
      of("threshold", nn::Threshold(0.1, -2.5), shape),
      of("softmax", nn::Softmax(0), shape),
      of("log_softmax", nn::LogSoftmax(), shape),
      of("softmin", nn::Softmin(), shape),
      of("glu", nn::GLU(), shape),
      of("rrelu", nn::RReLU(), shape),
      of("prelu_channels", nn::PReLU({.channels = 6}), shape),
      of("noise_in_inference",
         nn::Sequential{nn::Dropout(0.5), nn::AlphaDropout(0.5), nn::GaussianNoise(1), nn::GaussianDropout(0.5),
                        nn::Identity()},
         shape),
  });
}

TEST_CASE("recurrent layers and attention are written, with masks and states") {
  seed(11);
  const nn::LSTM lstm({.in = 3, .hidden = 4, .layers = 2});
  const nn::MultiheadAttention attention({.features = 4, .heads = 2});
  const nn::TransformerOptions block{.features = 4, .heads = 2, .hidden = 8, .activation = nn::BlockActivation::gelu};
  const nn::TransformerEncoderLayer encoder(block);
  const nn::TransformerDecoderLayer decoder(block);
  for (const nn::Module* each : std::vector<const nn::Module*>{&lstm, &attention, &encoder, &decoder}) {
    give_numbers(*each);
  }
  const auto numbers = [](const Shape& shape) { return Tensor<Eager>::normal(shape); };
  check_examples({
      of("rnn", nn::RNN({.in = 3, .hidden = 4}), {2, 5, 3}),
      of("rnn_relu", nn::RNN({.in = 3, .hidden = 2, .layers = 2, .bias = false}, nn::RecurrentActivation::relu),
         {2, 5, 3}),
      of("lstm", nn::LSTM({.in = 3, .hidden = 4}), {2, 5, 3}),
      of("lstm_both", nn::LSTM({.in = 3, .hidden = 2, .layers = 2, .bidirectional = true}), {2, 5, 3}),
      of("gru", nn::GRU({.in = 3, .hidden = 4}), {2, 5, 3}),
      of("gru_both", nn::GRU({.in = 3, .hidden = 2, .layers = 2, .bidirectional = true}), {2, 5, 3}),
      {"lstm_going_on",
       [&](const L& x) {
         const nn::Recurrence<Lazy> first = lstm.run(x), second = lstm.run(flip(x, 1), first.state);
         return concat<Lazy>({second.output, transpose(second.state.cell, {1, 0, 2})}, 1);
       },
       numbers({2, 5, 3})},
      of("attention", nn::MultiheadAttention({.features = 6, .heads = 3}), {2, 5, 6}),
      {"attention_causal", [&](const L& x) { return attention(x, {.causal = true}); }, numbers({2, 5, 4})},
      {"attention_masked",
       [&](const L& x) {
         return attention(x, x * 2, x - 1, {.key_mask = L{{1, 1, 1, 1, 0}, {1, 1, 0, 0, 0}}.astype(DType::boolean)});
       },
       numbers({2, 5, 4})},
      of("encoder", nn::TransformerEncoderLayer({.features = 4, .heads = 2, .hidden = 8}), {2, 5, 4}),
      of("encoder_norm_first",
         nn::TransformerEncoderLayer({.features = 4, .heads = 2, .hidden = 8, .norm_first = true}), {2, 5, 4}),
      {"encoder_causal", [&](const L& x) { return encoder(x, {.causal = true}); }, numbers({2, 5, 4})},
      {"decoder", [&](const L& x) { return decoder(x, flip(x, 1) * 0.5, {.causal = true}); }, numbers({2, 5, 4})},
  });
}

TEST_CASE("what a training step computes is written: the loss, and new values of the weights as outputs") {
  seed(12);
  const nn::Sequential network{nn::Conv2d({.in = 3, .out = 4, .stride = 2, .padding = 1}),
                               nn::GroupNorm({.channels = 4, .groups = 2}),
                               relu,
                               nn::MaxPool(3, {.stride = 1, .padding = 1}),
                               nn::AveragePool(2),
                               nn::Flatten(),
                               nn::Linear({.in = 16, .out = 5}),
                               nn::LayerNorm({.shape = {5}})};
  give_numbers(network);
  const L x = L::placeholder({2, 8, 8, 3}, DType::f32, "x");
  const L labels = L{1, 4}.astype(DType::i64);
  const auto objective = [&](const L& in) {
    return nn::cross_entropy(network(in, nn::training), labels, {.smoothing = 0.1});
  };
  const auto [loss, gradients] = value_and_grad(objective, network.parameters())(x);
  std::vector<L> outputs{loss};
  const std::vector<Tensor<Any>> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    outputs.push_back(L(parameters[i].value()) - 0.1 * L(gradients[i].value()));
  check_written("training_step", x, Tensor<Eager>::normal({2, 8, 8, 3}), outputs);
}

}  // namespace tyto::onnx_tests
