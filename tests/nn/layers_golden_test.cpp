// SPDX-License-Identifier: MIT
// Layers of one input against PyTorch: linear, convolution, normalisation, pooling, activations, networks.
#include "tests/nn/layer_goldens.hpp"

namespace tyto::nn {
namespace {

constexpr DType wide = DType::f64;
using goldens::check_layer;
using goldens::check_module;

/// A residual block under PyTorch's names.
struct PictureBlock : Layer {
  Conv2d conv1{{.in = 2, .out = 3, .stride = 2, .padding = 1, .bias = false, .dtype = wide}};
  BatchNorm2d bn1{{.channels = 3, .dtype = wide}};
  Conv2d conv2{{.in = 3, .out = 3, .padding = 1, .bias = false, .dtype = wide}};
  BatchNorm2d bn2{{.channels = 3, .dtype = wide}};
  Sequential downsample{Conv2d({.in = 2, .out = 3, .window = 1, .stride = 2, .bias = false, .dtype = wide}),
                        BatchNorm2d({.channels = 3, .dtype = wide})};

  Tensor<Any> forward(const Tensor<Any>& x, Phase p) const override {
    return relu(bn2(conv2(relu(bn1(conv1(x, p), p)), p), p) + downsample(x, p));
  }
  Members members() const override {
    return {{"conv1", conv1}, {"bn1", bn1}, {"conv2", conv2}, {"bn2", bn2}, {"downsample", downsample}};
  }
};

struct PictureNetwork : Layer {
  PictureBlock block;
  Linear fc{{.in = 12, .out = 4, .dtype = wide}};

  Tensor<Any> forward(const Tensor<Any>& x, Phase p) const override { return fc(Flatten(nchw)(block(x, p)), p); }
  Members members() const override { return {{"block", block}, {"fc", fc}}; }
};

}  // namespace

TEST_CASE_TEMPLATE("linear layers and embeddings compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("linear", Linear({.in = 3, .out = 4, .dtype = wide}));
  check_layer<M>("linear_without_bias", Linear({.in = 3, .out = 4, .bias = false, .dtype = wide}));
  check_layer<M>("embedding", Embedding({.count = 6, .features = 3, .dtype = wide}));
  check_layer<M>("embedding_padding", Embedding({.count = 6, .features = 3, .padding = 2, .dtype = wide}));
  check_layer<M>("embedding_max_norm", Embedding({.count = 6, .features = 3, .max_norm = 0.7, .dtype = wide}));
  check_layer<M>(
      "embedding_by_count",
      Embedding(
          {.count = 6, .features = 3, .padding = 1, .max_norm = 0.9, .p = 1, .share_by_count = true, .dtype = wide}));
  const Bilinear bilinear({.left = 3, .right = 2, .out = 4, .dtype = wide});
  check_module<M>("bilinear", bilinear,
                  [&](const Tensor<M>& x, Phase) { return bilinear(x(all, slice(0, 3)), x(all, slice(3, 5))); });
}

TEST_CASE_TEMPLATE("bags of embeddings compute, learn and load as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const std::map<std::string, BagMode> modes{{"mean", BagMode::mean}, {"sum", BagMode::sum}, {"max", BagMode::max}};
  for (const auto& [name, mode] : modes) {
    check_layer<M>("bag_" + name, EmbeddingBag({.count = 6, .features = 3, .mode = mode, .dtype = wide}));
    check_layer<M>("bag_" + name + "_padding",
                   EmbeddingBag({.count = 6, .features = 3, .mode = mode, .padding = 2, .dtype = wide}));
    const EmbeddingBag listed({.count = 6, .features = 3, .mode = mode, .padding = 0, .dtype = wide});
    check_module<M>("bag_" + name + "_offsets", listed, [&](const T& x, Phase phase) {
      return listed(x, {.offsets = T{0, 3, 3, 7}}, phase);
    });
  }
  check_layer<M>(
      "bag_by_count",
      EmbeddingBag({.count = 6, .features = 3, .max_norm = 0.8, .p = 3, .share_by_count = true, .dtype = wide}));
  const EmbeddingBag weighing({.count = 6, .features = 3, .mode = BagMode::sum, .dtype = wide});
  check_module<M>("bag_weights", weighing, [&](const T& x, Phase phase) {
    const T weights = T{0.5, -1.0, 2.0, 0.25, 1.0, 1.5}.astype(wide);
    return weighing(x, {.offsets = T{0, 4}, .weights = weights}, phase);
  });
}

TEST_CASE_TEMPLATE("convolution layers compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("conv1d", Conv1d({.in = 3, .out = 4, .padding = 1, .dtype = wide}));
  check_layer<M>("conv2d",
                 Conv2d({.in = 3, .out = 4, .window = {3, 2}, .stride = {2, 1}, .padding = 1, .dtype = wide}));
  check_layer<M>("conv3d", Conv3d({.in = 2, .out = 3, .window = 2, .dtype = wide}));
  check_layer<M>("conv2d_groups",
                 Conv2d({.in = 4, .out = 6, .dilation = 2, .groups = 2, .bias = false, .dtype = wide}));
  check_layer<M>("depthwise", DepthwiseConv2d({.channels = 3, .multiplier = 2, .padding = 1, .dtype = wide}));
  check_layer<M>("separable", SeparableConv2d({.in = 3, .out = 4, .padding = 1, .dtype = wide}),
                 [](const std::string& name) { return (name[0] == '0' ? "depthwise" : "pointwise") + name.substr(1); });
  check_layer<M>("conv_transpose1d", ConvTranspose1d({.in = 3, .out = 4, .stride = 2, .dtype = wide}));
  check_layer<M>("conv_transpose2d",
                 ConvTranspose2d({.in = 3, .out = 2, .stride = 2, .padding = 1, .output_padding = 1, .dtype = wide}));
  check_layer<M>("conv_transpose2d_groups",
                 ConvTranspose2d({.in = 4, .out = 4, .window = 2, .stride = 2, .groups = 2, .dtype = wide}));
  check_layer<M>("conv_transpose2d_dilated", ConvTranspose2d({.in = 4,
                                                              .out = 6,
                                                              .window = {3, 2},
                                                              .stride = {1, 2},
                                                              .padding = Padding({1, 0}, {1, 0}),
                                                              .dilation = {3, 2},
                                                              .output_padding = {2, 1},
                                                              .groups = 2,
                                                              .dtype = wide}));
  check_layer<M>("conv_transpose3d", ConvTranspose3d({.in = 2, .out = 2, .window = 2, .stride = 2, .dtype = wide}));
}

TEST_CASE_TEMPLATE("batch norm computes, learns, loads and keeps statistics as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("batch_norm1d", BatchNorm1d({.channels = 3, .dtype = wide}));
  check_layer<M>("batch_norm1d_length", BatchNorm1d({.channels = 3, .dtype = wide}));
  check_layer<M>("batch_norm2d", BatchNorm2d({.channels = 3, .dtype = wide}));
  check_layer<M>("batch_norm2d_momentum",
                 BatchNorm2d({.channels = 3, .epsilon = 1e-3, .momentum = 0.3, .dtype = wide}));
  check_layer<M>("batch_norm2d_cumulative", BatchNorm2d({.channels = 3, .momentum = {}, .dtype = wide}));
  check_layer<M>("batch_norm2d_plain", BatchNorm2d({.channels = 3, .affine = false, .dtype = wide}));
  check_layer<M>("batch_norm2d_without_bias", BatchNorm2d({.channels = 3, .bias = false, .dtype = wide}));
  check_layer<M>("batch_norm2d_untracked", BatchNorm2d({.channels = 3, .track = false, .dtype = wide}));
  check_layer<M>("batch_norm3d", BatchNorm3d({.channels = 2, .dtype = wide}));
}

TEST_CASE_TEMPLATE("instance, group, layer and RMS norm compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("instance_norm", InstanceNorm({.channels = 3, .dtype = wide}));
  check_layer<M>("instance_norm_affine", InstanceNorm({.channels = 3, .affine = true, .dtype = wide}));
  check_layer<M>("instance_norm_tracked", InstanceNorm({.channels = 3, .affine = true, .track = true, .dtype = wide}));
  check_layer<M>("instance_norm_without_bias",
                 InstanceNorm({.channels = 3, .affine = true, .bias = false, .dtype = wide}));
  check_layer<M>("group_norm_without_bias", GroupNorm({.channels = 4, .groups = 2, .bias = false, .dtype = wide}));
  check_layer<M>("group_norm", GroupNorm({.channels = 4, .groups = 2, .dtype = wide}));
  check_layer<M>("group_norm_flat", GroupNorm({.channels = 6, .groups = 3, .dtype = wide}));
  check_layer<M>("layer_norm", LayerNorm({.shape = {5}, .dtype = wide}));
  check_layer<M>("layer_norm_axes", LayerNorm({.shape = {3, 4}, .dtype = wide}));
  check_layer<M>("layer_norm_without_bias", LayerNorm({.shape = {5}, .bias = false, .dtype = wide}));
  check_layer<M>("local_response_norm", LocalResponseNorm({.size = 3, .alpha = 0.5, .beta = 0.6, .k = 2}));
  check_layer<M>("local_response_norm_even", LocalResponseNorm({.size = 4, .alpha = 2}));
  check_layer<M>("rms_norm", RMSNorm({.shape = {5}, .dtype = wide}));
  check_layer<M>("rms_norm_epsilon", RMSNorm({.shape = {3, 4}, .epsilon = 1e-2, .dtype = wide}));
}

TEST_CASE_TEMPLATE("layers that change space compute as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("max_pool", MaxPool(2));
  check_layer<M>("average_pool", AveragePool(3, {.stride = 1, .padding = 1}));
  check_layer<M>("power_pool", PowerPool(2, 2));
  check_layer<M>("power_pool_cubes", PowerPool(3, 3, {.stride = 1}));
  check_layer<M>("adaptive_average_pool", AdaptiveAveragePool({2, 3}));
  check_layer<M>("adaptive_max_pool", AdaptiveMaxPool({2, 3}));
  check_layer<M>("adaptive_max_pool_equal", AdaptiveMaxPool({2, 3}));
  check_layer<M>("global_max_pool_equal", GlobalMaxPool());
  check_layer<M>("adaptive_max_pool1d", AdaptiveMaxPool(3));
  check_layer<M>("global_average_pool", GlobalAveragePool());
  check_layer<M>("global_max_pool", GlobalMaxPool());
  check_layer<M>("upsample_nearest", Upsample(2));
  check_layer<M>("upsample_bilinear", Upsample(2, Resampling::bilinear));
  check_layer<M>("pad_zero", Pad(Padding({0, 1}, {1, 2})));
  check_layer<M>("pad_value", Pad(1, {.value = 2.5}));
  check_layer<M>("pad_reflect", Pad(2, {.mode = PaddingMode::reflect}));
  check_layer<M>("pad_edge", Pad(1, {.mode = PaddingMode::edge}));
  check_layer<M>("pixel_shuffle", PixelShuffle(2));
  check_layer<M>("pixel_unshuffle", PixelUnshuffle(2));
  check_layer<M>("flatten_channels_first", Flatten(nchw));
}

TEST_CASE_TEMPLATE("windows taken out, put back and unpooled are PyTorch's", M, Eager, Lazy) {
  const PatchOptions uneven{.stride = {2, 1}, .padding = 1, .dilation = {1, 2}, .order = nchw};
  check_layer<M>("unfold", Unfold({3, 2}, uneven));
  check_layer<M>("fold", Fold({5, 4}, {3, 2}, uneven));
  const auto unpooled = [](const Tensor<M>& x, const PerAxis& window, const PoolOptions& options) {
    const auto [values, indices] = max_pool_with_indices(x, window, options);
    return max_unpool(values, indices, window, {.size = {x.shape()[1], x.shape()[2]}});
  };
  const Identity none;
  check_module<M>("unpooled", none, [&](const Tensor<M>& x, Phase) { return unpooled(x, 2, {}); });
  check_module<M>("unpooled_padded", none, [&](const Tensor<M>& x, Phase) { return unpooled(x, 3, {.padding = 1}); });
  const Tensor<M> x = goldens::array<M>(goldens::layers_file, "pooled_indices/x");
  const auto check_indices = [&](const std::string& name, const PerAxis& window, const PoolOptions& options) {
    CAPTURE(name);
    const auto golden = [&](const char* what) {
      return goldens::array<Eager>(goldens::layers_file, "pooled_indices/" + name + "/" + what);
    };
    const auto [values, indices] = max_pool_with_indices(x, window, options);
    goldens::check_near(values, golden("values"), "the values");
    CHECK(indices.template to_vector<std::int64_t>() == golden("indices").template to_vector<std::int64_t>());
  };
  check_indices("plain", 2, {});
  check_indices("overlapping", 3, {.stride = 2, .padding = 1});
  check_indices("dilated", 2, {.stride = 1, .dilation = 2});
}

TEST_CASE_TEMPLATE("layers with normed weights compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("weight_norm_linear", WeightNorm(Linear({.in = 3, .out = 4, .dtype = wide})));
  check_layer<M>("weight_norm_convolution", WeightNorm(Conv2d({.in = 3, .out = 4, .window = {3, 2}, .dtype = wide})));
  check_layer<M>("weight_norm_transposed", WeightNorm(ConvTranspose1d({.in = 3, .out = 4, .dtype = wide})));
  check_layer<M>("spectral_norm_linear", SpectralNorm(Linear({.in = 3, .out = 4, .dtype = wide})));
  check_layer<M>("spectral_norm_convolution",
                 SpectralNorm(Conv2d({.in = 3, .out = 4, .window = {3, 2}, .dtype = wide}), 2));
}

TEST_CASE_TEMPLATE("branches and layers that only reshape compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("reshape", Reshape({3, 2}));
  check_layer<M>("parallel", Parallel({{"value", Linear({.in = 3, .out = 4, .dtype = wide})},
                                       {"gate", Sequential{Linear({.in = 3, .out = 4, .dtype = wide}), Sigmoid()}}},
                                      [](const std::vector<Tensor<Any>>& each) { return each[0] * each[1]; }));
}

TEST_CASE_TEMPLATE("activations compute as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("relu", ReLU());
  check_layer<M>("relu6", ReLU6());
  check_layer<M>("leaky_relu", LeakyReLU(0.2));
  check_layer<M>("elu", ELU(0.7));
  check_layer<M>("selu", SELU());
  check_layer<M>("celu", CELU(0.7));
  check_layer<M>("gelu", GELU());
  check_layer<M>("gelu_tanh", GELU(GeluFormula::tanh));
  check_layer<M>("silu", SiLU());
  check_layer<M>("mish", Mish());
  check_layer<M>("sigmoid", Sigmoid());
  check_layer<M>("log_sigmoid", LogSigmoid());
  check_layer<M>("tanh", Tanh());
  check_layer<M>("softplus", Softplus());
  check_layer<M>("softplus_beta", Softplus(2));
  check_layer<M>("softsign", Softsign());
  check_layer<M>("hard_tanh", Hardtanh(-1, 2));
  check_layer<M>("hard_sigmoid", Hardsigmoid());
  check_layer<M>("hard_swish", Hardswish());
  check_layer<M>("tanh_shrink", Tanhshrink());
  check_layer<M>("soft_shrink", Softshrink(0.3));
  check_layer<M>("hard_shrink", Hardshrink(0.3));
  check_layer<M>("threshold", Threshold(0.1, -2.5));
  check_layer<M>("softmax", Softmax());
  check_layer<M>("log_softmax", LogSoftmax());
  check_layer<M>("softmin", Softmin());
  check_layer<M>("glu", GLU());
  check_layer<M>("rrelu", RReLU({.low = (1.0 / 8 + 1.0 / 3) / 2, .high = (1.0 / 8 + 1.0 / 3) / 2}));
  check_layer<M>("prelu", PReLU({.dtype = wide}));
  check_layer<M>("prelu_channels", PReLU({.channels = 3, .dtype = wide}));
}

TEST_CASE_TEMPLATE("a residual network with batch norm computes, learns and loads as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("residual_block", PictureBlock());
  check_layer<M>("residual_network", PictureNetwork());
  // The same block of containers.
  const auto rename = [](const std::string& name) {
    const std::map<std::string, std::string> places{{"conv1", "0.body.0"},
                                                    {"bn1", "0.body.1"},
                                                    {"conv2", "0.body.3"},
                                                    {"bn2", "0.body.4"},
                                                    {"downsample.0", "0.shortcut.0"},
                                                    {"downsample.1", "0.shortcut.1"}};
    const std::size_t point = name.rfind('.');
    return places.at(name.substr(0, point)) + name.substr(point);
  };
  const PictureBlock plain;
  check_layer<M>(
      "residual_block",
      Sequential{
          Residual(Sequential{Conv2d({.in = 2, .out = 3, .stride = 2, .padding = 1, .bias = false, .dtype = wide}),
                              BatchNorm2d({.channels = 3, .dtype = wide}), tyto::relu,
                              Conv2d({.in = 3, .out = 3, .padding = 1, .bias = false, .dtype = wide}),
                              BatchNorm2d({.channels = 3, .dtype = wide})},
                   plain.downsample),
          tyto::relu},
      rename);
}

}  // namespace tyto::nn
