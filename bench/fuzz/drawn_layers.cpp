// SPDX-License-Identifier: MIT
// Layers by their names: results, gradients, states after three steps of descent, results in inference.
#include <functional>
#include <memory>

#include "bench/fuzz/drawn_case.hpp"

namespace tyto::oracle {

namespace {

/// A module, and how it is called.
template <class M>
struct Made {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor<M>(const Tensor<M>& x, nn::Phase phase)> call;
};

template <class M, class L>
Made<M> layer(L made) {
  const auto shared = std::make_shared<L>(std::move(made));
  return {shared, [shared](const Tensor<M>& x, nn::Phase phase) { return (*shared)(x, phase); }};
}
template <class M>
Made<M> function(std::function<Tensor<M>(const Tensor<M>&)> f) {
  return {std::make_shared<nn::Identity>(), [f = std::move(f)](const Tensor<M>& x, nn::Phase) { return f(x); }};
}

nn::ConvolutionLayerOptions convolution_options(const DrawnCase& c) {
  return {.in = c.integer("in"),
          .out = c.integer("out"),
          .window = c.each("window", 3),
          .stride = c.each("stride", 1),
          .padding = c.padding(),
          .dilation = c.each("dilation", 1),
          .groups = c.integer("groups", 1),
          .bias = c.flag("bias", true),
          .dtype = c.dtype()};
}
nn::TransposedConvolutionLayerOptions transposed_options(const DrawnCase& c) {
  return {.in = c.integer("in"),
          .out = c.integer("out"),
          .window = c.each("window", 3),
          .stride = c.each("stride", 1),
          .padding = c.padding(),
          .dilation = c.each("dilation", 1),
          .output_padding = c.each("output_padding", 0),
          .groups = c.integer("groups", 1),
          .bias = c.flag("bias", true),
          .dtype = c.dtype()};
}
PoolOptions pool_options(const DrawnCase& c) {
  return {.stride = c.has("stride") ? c.each("stride", 1) : PerAxis(),
          .padding = c.padding(),
          .dilation = c.each("dilation", 1),
          .count_padding = c.flag("count_padding"),
          .ceil_mode = c.flag("ceil_mode")};
}
nn::PatchOptions patch_options(const DrawnCase& c) {
  return {.stride = c.each("stride", 1), .padding = c.padding(), .dilation = c.each("dilation", 1), .order = nchw};
}
nn::BatchNormOptions batch_norm_options(const DrawnCase& c) {
  return {.channels = c.integer("channels"),
          .epsilon = c.real("epsilon", 1e-5),
          .momentum = c.has("cumulative") ? std::nullopt : std::optional(c.real("momentum", 0.1)),
          .affine = c.flag("affine", true),
          .bias = c.flag("bias", true),
          .track = c.flag("track", true),
          .dtype = c.dtype()};
}
nn::RecurrentOptions recurrent_options(const DrawnCase& c) {
  return {.in = c.integer("in"),
          .hidden = c.integer("hidden"),
          .layers = c.integer("layers", 1),
          .bidirectional = c.flag("bidirectional"),
          .projection = c.integer("projection"),
          .bias = c.flag("bias", true),
          .dtype = c.dtype()};
}
nn::TransformerOptions transformer_options(const DrawnCase& c) {
  return {.features = c.integer("features"),
          .heads = c.integer("heads"),
          .hidden = c.integer("hidden"),
          .dropout = 0,
          .activation = c.flag("gelu") ? nn::BlockActivation::gelu : nn::BlockActivation::relu,
          .epsilon = c.real("epsilon", 1e-5),
          .norm_first = c.flag("norm_first"),
          .bias = c.flag("bias", true),
          .dtype = c.dtype()};
}
Shape shape_of(const PerAxis& lengths) { return Shape(lengths); }

template <class M>
AttentionOptions<M> masks_of(const DrawnCase& c) {
  AttentionOptions<M> masks{.causal = c.flag("causal")};
  if (c.has_array("mask")) masks.mask = c.array<M>("mask");
  if (c.has_array("key_mask")) masks.key_mask = c.array<M>("key_mask");
  return masks;
}

template <class M>
Made<M> convolutions(const DrawnCase& c) {
  const std::string& kind = c.kind();
  if (kind == "conv1d") return layer<M>(nn::Conv1d(convolution_options(c)));
  if (kind == "conv2d") return layer<M>(nn::Conv2d(convolution_options(c)));
  if (kind == "conv3d") return layer<M>(nn::Conv3d(convolution_options(c)));
  if (kind == "conv_transpose1d") return layer<M>(nn::ConvTranspose1d(transposed_options(c)));
  if (kind == "conv_transpose2d") return layer<M>(nn::ConvTranspose2d(transposed_options(c)));
  if (kind == "conv_transpose3d") return layer<M>(nn::ConvTranspose3d(transposed_options(c)));
  if (kind == "separable") return layer<M>(nn::SeparableConv2d(convolution_options(c)));
  if (kind == "depthwise") {
    return layer<M>(nn::DepthwiseConv2d({.channels = c.integer("channels"),
                                         .multiplier = c.integer("multiplier", 1),
                                         .window = c.each("window", 3),
                                         .stride = c.each("stride", 1),
                                         .padding = c.padding(),
                                         .dilation = c.each("dilation", 1),
                                         .bias = c.flag("bias", true),
                                         .dtype = c.dtype()}));
  }
  if (kind == "weight_norm_conv2d") return layer<M>(nn::WeightNorm(nn::Conv2d(convolution_options(c))));
  if (kind == "weight_norm_conv_transpose2d")
    return layer<M>(nn::WeightNorm(nn::ConvTranspose2d(transposed_options(c))));
  if (kind == "spectral_norm_conv2d") {
    return layer<M>(nn::SpectralNorm(nn::Conv2d(convolution_options(c)), c.integer("iterations", 1)));
  }
  return {};
}

template <class M>
Made<M> norms(const DrawnCase& c) {
  const std::string& kind = c.kind();
  if (kind == "batch_norm1d") return layer<M>(nn::BatchNorm1d(batch_norm_options(c)));
  if (kind == "batch_norm2d") return layer<M>(nn::BatchNorm2d(batch_norm_options(c)));
  if (kind == "batch_norm3d") return layer<M>(nn::BatchNorm3d(batch_norm_options(c)));
  if (kind == "instance_norm") {
    return layer<M>(nn::InstanceNorm({.channels = c.integer("channels"),
                                      .epsilon = c.real("epsilon", 1e-5),
                                      .momentum = c.real("momentum", 0.1),
                                      .affine = c.flag("affine"),
                                      .bias = c.flag("bias", true),
                                      .track = c.flag("track"),
                                      .dtype = c.dtype()}));
  }
  if (kind == "group_norm") {
    return layer<M>(nn::GroupNorm({.channels = c.integer("channels"),
                                   .groups = c.integer("groups"),
                                   .epsilon = c.real("epsilon", 1e-5),
                                   .affine = c.flag("affine", true),
                                   .bias = c.flag("bias", true),
                                   .dtype = c.dtype()}));
  }
  if (kind == "layer_norm") {
    return layer<M>(nn::LayerNorm({.shape = shape_of(c.each("shape", 1)),
                                   .epsilon = c.real("epsilon", 1e-5),
                                   .affine = c.flag("affine", true),
                                   .bias = c.flag("bias", true),
                                   .dtype = c.dtype()}));
  }
  if (kind == "rms_norm") {
    return layer<M>(nn::RMSNorm({.shape = shape_of(c.each("shape", 1)),
                                 .epsilon = c.has("epsilon") ? std::optional(c.real("epsilon", 0)) : std::nullopt,
                                 .affine = c.flag("affine", true),
                                 .dtype = c.dtype()}));
  }
  if (kind == "local_response_norm") {
    return layer<M>(nn::LocalResponseNorm({.size = c.integer("size"),
                                           .alpha = c.real("alpha", 1e-4),
                                           .beta = c.real("beta", 0.75),
                                           .k = c.real("k", 1)}));
  }
  return {};
}

template <class M>
Made<M> spaces(const DrawnCase& c) {
  using T = Tensor<M>;
  const std::string& kind = c.kind();
  if (kind == "max_pool") return layer<M>(nn::MaxPool(c.each("window", 2), pool_options(c)));
  if (kind == "average_pool") return layer<M>(nn::AveragePool(c.each("window", 2), pool_options(c)));
  if (kind == "power_pool") return layer<M>(nn::PowerPool(c.real("power", 2), c.each("window", 2), pool_options(c)));
  if (kind == "adaptive_average_pool") return layer<M>(nn::AdaptiveAveragePool(c.each("size", 1)));
  if (kind == "adaptive_max_pool") return layer<M>(nn::AdaptiveMaxPool(c.each("size", 1)));
  if (kind == "upsample") {
    return layer<M>(nn::Upsample(c.each("scale", 2), c.flag("bilinear") ? Resampling::bilinear : Resampling::nearest));
  }
  if (kind == "resize") {
    ResizeOptions options{.method = c.text("method") == "cubic"     ? Interpolation::cubic
                                    : c.text("method") == "nearest" ? Interpolation::nearest
                                                                    : Interpolation::linear,
                          .coordinates = c.flag("corners") ? Coordinates::corners : Coordinates::half_pixel};
    if (options.method == Interpolation::nearest) {
      options.coordinates = Coordinates::asymmetric;
      options.nearest = Nearest::floor;
    }
    const PerAxis size = c.each("size", 1);
    return function<M>([=](const T& x) { return resize(x, size, options); });
  }
  if (kind == "pad") {
    const std::map<std::string, PaddingMode> modes{{"constant", PaddingMode::constant},
                                                   {"reflect", PaddingMode::reflect},
                                                   {"edge", PaddingMode::edge},
                                                   {"wrap", PaddingMode::wrap}};
    return layer<M>(nn::Pad(c.padding(), {.mode = modes.at(c.text("mode")), .value = c.real("value", 0)}));
  }
  if (kind == "pixel_shuffle") return layer<M>(nn::PixelShuffle(c.integer("factor")));
  if (kind == "pixel_unshuffle") return layer<M>(nn::PixelUnshuffle(c.integer("factor")));
  if (kind == "unfold") return layer<M>(nn::Unfold(c.each("window", 2), patch_options(c)));
  if (kind == "fold") return layer<M>(nn::Fold(shape_of(c.each("size", 1)), c.each("window", 2), patch_options(c)));
  if (kind == "unpool") {
    const PerAxis window = c.each("window", 2);
    const PoolOptions options = pool_options(c);
    return function<M>([=](const T& x) {
      const auto [values, indices] = nn::max_pool_with_indices(x, window, options);
      Shape size;
      for (std::size_t i = 1; i + 1 < x.shape().size(); ++i) size.push_back(x.shape()[i]);
      return nn::max_unpool(values, indices, window, {.stride = options.stride, .size = size});
    });
  }
  return {};
}

template <class M>
Made<M> activations(const DrawnCase& c) {
  const std::string& kind = c.kind();
  const double a = c.real("a", 1), b = c.real("b", 1);
  if (kind == "leaky_relu") return layer<M>(nn::LeakyReLU(a));
  if (kind == "elu") return layer<M>(nn::ELU(a));
  if (kind == "celu") return layer<M>(nn::CELU(a));
  if (kind == "softplus") return layer<M>(nn::Softplus(a));
  if (kind == "hard_tanh") return layer<M>(nn::Hardtanh(a, b));
  if (kind == "soft_shrink") return layer<M>(nn::Softshrink(a));
  if (kind == "hard_shrink") return layer<M>(nn::Hardshrink(a));
  if (kind == "threshold") return layer<M>(nn::Threshold(a, b));
  if (kind == "softmax") return layer<M>(nn::Softmax(c.integer("axis")));
  if (kind == "log_softmax") return layer<M>(nn::LogSoftmax(c.integer("axis")));
  if (kind == "softmin") return layer<M>(nn::Softmin(c.integer("axis")));
  if (kind == "glu") return layer<M>(nn::GLU(c.integer("axis")));
  if (kind == "gelu") return layer<M>(nn::GELU(c.flag("tanh") ? nn::GeluFormula::tanh : nn::GeluFormula::erf));
  if (kind == "prelu") {
    return layer<M>(nn::PReLU({.channels = c.integer("channels"), .initial = a, .dtype = c.dtype()}));
  }
  const std::map<std::string, std::function<Made<M>()>> plain{
      {"relu", [] { return layer<M>(nn::ReLU()); }},
      {"relu6", [] { return layer<M>(nn::ReLU6()); }},
      {"selu", [] { return layer<M>(nn::SELU()); }},
      {"silu", [] { return layer<M>(nn::SiLU()); }},
      {"mish", [] { return layer<M>(nn::Mish()); }},
      {"sigmoid", [] { return layer<M>(nn::Sigmoid()); }},
      {"log_sigmoid", [] { return layer<M>(nn::LogSigmoid()); }},
      {"tanh", [] { return layer<M>(nn::Tanh()); }},
      {"softsign", [] { return layer<M>(nn::Softsign()); }},
      {"hard_sigmoid", [] { return layer<M>(nn::Hardsigmoid()); }},
      {"hard_swish", [] { return layer<M>(nn::Hardswish()); }},
      {"tanh_shrink", [] { return layer<M>(nn::Tanhshrink()); }},
  };
  const auto found = plain.find(kind);
  return found == plain.end() ? Made<M>() : found->second();
}

/// All that a recurrent layer yields, as one row of numbers.
template <class M, class L>
Made<M> recurrent(const DrawnCase& c, L made, bool has_cell) {
  using T = Tensor<M>;
  const auto shared = std::make_shared<L>(std::move(made));
  nn::RecurrentState<M> initial;
  if (c.has_array("h")) initial.hidden = c.array<M>("h");
  if (c.has_array("c")) initial.cell = c.array<M>("c");
  return {shared, [=](const T& x, nn::Phase phase) {
            const nn::Recurrence<M> all = shared->run(x, initial, phase);
            std::vector<T> parts{all.output.reshape(-1), all.state.hidden.reshape(-1)};
            if (has_cell) parts.push_back(all.state.cell.reshape(-1));
            return concat(parts);
          }};
}

template <class M>
Made<M> sequences(const DrawnCase& c) {
  using T = Tensor<M>;
  const std::string& kind = c.kind();
  if (kind == "rnn") {
    return recurrent<M>(
        c,
        nn::RNN(recurrent_options(c), c.flag("relu") ? nn::RecurrentActivation::relu : nn::RecurrentActivation::tanh),
        false);
  }
  if (kind == "lstm") return recurrent<M>(c, nn::LSTM(recurrent_options(c)), true);
  if (kind == "gru") return recurrent<M>(c, nn::GRU(recurrent_options(c)), false);
  const AttentionOptions<M> masks = masks_of<M>(c);
  if (kind == "attention") {
    const std::int64_t features = c.integer("features");
    const auto shared = std::make_shared<nn::MultiheadAttention>(
        nn::MultiheadAttentionOptions{.features = features,
                                      .heads = c.integer("heads"),
                                      .key_features = c.integer("key_features"),
                                      .value_features = c.integer("value_features"),
                                      .bias = c.flag("bias", true),
                                      .extra_key = c.flag("extra_key"),
                                      .zero_key = c.flag("zero_key"),
                                      .dtype = c.dtype()});
    if (!c.flag("across")) return {shared, [=](const T& x, nn::Phase phase) { return (*shared)(x, masks, phase); }};
    const T keys = c.array<M>("keys"), values = c.array<M>("values");
    return {shared, [=](const T& x, nn::Phase phase) { return (*shared)(x, keys, values, masks, phase); }};
  }
  if (kind == "encoder") {
    const auto shared = std::make_shared<nn::TransformerEncoderLayer>(transformer_options(c));
    return {shared, [=](const T& x, nn::Phase phase) { return (*shared)(x, masks, phase); }};
  }
  if (kind == "decoder") {
    const auto shared = std::make_shared<nn::TransformerDecoderLayer>(transformer_options(c));
    const T memory = c.array<M>("memory");
    AttentionOptions<M> of_memory;
    if (c.has_array("memory_key_mask")) of_memory.key_mask = c.array<M>("memory_key_mask");
    return {shared, [=](const T& x, nn::Phase phase) { return (*shared)(x, memory, masks, of_memory, phase); }};
  }
  return {};
}

template <class M>
Made<M> made_of(const DrawnCase& c) {
  using T = Tensor<M>;
  const std::string& kind = c.kind();
  if (kind == "linear") {
    return layer<M>(
        nn::Linear({.in = c.integer("in"), .out = c.integer("out"), .bias = c.flag("bias", true), .dtype = c.dtype()}));
  }
  if (kind == "weight_norm_linear") {
    return layer<M>(nn::WeightNorm(nn::Linear(
        {.in = c.integer("in"), .out = c.integer("out"), .bias = c.flag("bias", true), .dtype = c.dtype()})));
  }
  const auto padding = c.has("padding_index") ? std::optional(c.integer("padding_index")) : std::nullopt;
  const auto max_norm = c.has("max_norm") ? std::optional(c.real("max_norm", 0)) : std::nullopt;
  if (kind == "embedding") {
    return layer<M>(nn::Embedding({.count = c.integer("count"),
                                   .features = c.integer("features"),
                                   .padding = padding,
                                   .max_norm = max_norm,
                                   .p = c.real("p", 2),
                                   .share_by_count = c.flag("share_by_count"),
                                   .dtype = c.dtype()}));
  }
  if (kind == "embedding_bag") {
    const std::map<std::string, nn::BagMode> modes{
        {"mean", nn::BagMode::mean}, {"sum", nn::BagMode::sum}, {"max", nn::BagMode::max}};
    const auto shared =
        std::make_shared<nn::EmbeddingBag>(nn::EmbeddingBagOptions{.count = c.integer("count"),
                                                                   .features = c.integer("features"),
                                                                   .mode = modes.at(c.text("mode")),
                                                                   .padding = padding,
                                                                   .max_norm = max_norm,
                                                                   .p = c.real("p", 2),
                                                                   .share_by_count = c.flag("share_by_count"),
                                                                   .dtype = c.dtype()});
    nn::BagOptions<M> bags;
    if (c.has_array("offsets")) bags.offsets = c.array<M>("offsets");
    if (c.has_array("weights")) bags.weights = c.array<M>("weights");
    return {shared, [=](const T& x, nn::Phase phase) { return (*shared)(x, bags, phase); }};
  }
  if (kind == "bilinear") {
    const std::int64_t left = c.integer("left");
    const auto shared = std::make_shared<nn::Bilinear>(nn::BilinearOptions{.left = left,
                                                                           .right = c.integer("right"),
                                                                           .out = c.integer("out"),
                                                                           .bias = c.flag("bias", true),
                                                                           .dtype = c.dtype()});
    return {shared, [=](const T& x, nn::Phase) {
              return (*shared)(x(ellipsis, slice(0, left)), x(ellipsis, slice(left, {})));
            }};
  }
  for (const auto& family : {convolutions<M>, norms<M>, spaces<M>, activations<M>, sequences<M>}) {
    Made<M> made = family(c);
    if (made.module) return made;
  }
  return {};
}

/// A state, or its gradient, with its axes as PyTorch has them.
Tensor<Any> as_pytorch(const nn::Module& module, const std::string& name, Tensor<Any> value) {
  module.visit_states([&](const std::string& path, const nn::Module&, const nn::Member& state) {
    if (path != name || state.pytorch_axes().empty()) return;
    IntList back(state.pytorch_axes().size(), 0);
    for (std::size_t i = 0; i < back.size(); ++i) {
      back[static_cast<std::size_t>(state.pytorch_axes()[i])] = static_cast<std::int64_t>(i);
    }
    value = transpose(value, back);
  });
  return value;
}

}  // namespace

template <class M>
bool run_layer(DrawnCase& drawn) {
  using T = Tensor<M>;
  const Made<M> made = made_of<M>(drawn);
  if (!made.module) return false;
  const nn::Module& module = *made.module;
  if (!module.named_states().empty()) {
    nn::load(module, drawn.states_path(), {.layout = nn::WeightLayout::pytorch});
  }
  const T x = drawn.array<M>("x"), target = drawn.array<M>("target");
  const auto objective = [&](const T& in) {
    const T y = made.call(in, nn::training);
    return std::pair(mean(square(y - target)), y);
  };
  if (is_floating(x.dtype())) {
    NamedList<Tensor<Any>> before;
    for (const auto& state : module.named_states()) {
      before.push_back({state.name, copy(stop_gradient(state.value))});
    }
    drawn.keep("gradient_x", value_and_grad(objective)(x).second[0]);
    std::size_t i = 0;
    for (const auto& state : module.named_states()) assign(state.value, before[i++].value);
  }
  const auto named = module.named_parameters();
  if (named.empty()) {
    auto compiled = compile([&](T in) { return made.call(in, nn::training); });
    drawn.keep("y", compiled(x));
  } else {
    nn::Descent descent = nn::sgd({.rate = 0.1});
    const std::vector<Tensor<Any>> parameters = module.parameters();
    auto step = compile([&](T in) {
      auto [result, gradients] = value_and_grad(objective, parameters)(in);
      descent.update(parameters, gradients);
      std::vector<T> all{result.second};
      for (const Tensor<Any>& gradient : gradients) all.emplace_back(gradient.value());
      return all;
    });
    for (int i = 0; i < 3; ++i) {
      const std::vector<T> all = step(x);
      if (i != 0) continue;
      drawn.keep("y", all[0]);
      for (std::size_t k = 0; k < named.size(); ++k) {
        drawn.keep("gradient/" + named[k].name, as_pytorch(module, named[k].name, Tensor<Any>(all[k + 1].value())));
      }
    }
  }
  for (const auto& state : module.named_states()) {
    drawn.keep("after/" + state.name, as_pytorch(module, state.name, state.value));
  }
  auto use = compile([&](T in) { return made.call(in, nn::inference); });
  drawn.keep("used", use(x));
  return true;
}

template bool run_layer<Eager>(DrawnCase&);
template bool run_layer<Lazy>(DrawnCase&);

}  // namespace tyto::oracle
