// SPDX-License-Identifier: MIT
// Recurrent layers, attention and transformer blocks against PyTorch.
#include "tests/nn/layer_goldens.hpp"

namespace tyto::nn {
namespace {

constexpr DType f64 = DType::f64;
using goldens::array;
using goldens::check_layer;
using goldens::check_module;
using goldens::check_near;
using goldens::layers_file;

/// Initial states in, last states out, and the gradients of all.
template <class M>
void check_states(const std::string& name, const Recurrent& layer, bool has_cell) {
  using T = Tensor<M>;
  CAPTURE(name);
  goldens::load_case(layer, name);
  const auto given = [&](const char* what) { return array<M>(layers_file, name + "/" + what); };
  const auto golden = [&](const char* what) { return array<Eager>(layers_file, name + "/" + what); };
  std::vector<T> inputs{given("x"), given("h")};
  if (has_cell) inputs.push_back(given("c"));
  const auto results = [&](const std::vector<T>& in) {
    const Recurrence<M> all = layer.run(in[0], {in[1], has_cell ? in[2] : T()}, training);
    std::vector<T> list{all.output, all.state.hidden};
    if (has_cell) list.push_back(all.state.cell);
    return list;
  };
  const std::vector<T> found = results(inputs);
  const std::vector<const char*> names{"y", "last_h", "last_c"};
  for (std::size_t i = 0; i < found.size(); ++i) check_near(found[i], golden(names[i]), names[i]);
  const auto loss = [&](const std::vector<T>& in) {
    T total;
    for (const T& result : results(in)) total = !total.defined() ? mean(square(result)) : total + mean(square(result));
    return total;
  };
  const std::vector<T> gradients = vjp(loss, inputs, T::ones({}, f64)).second;
  const std::vector<const char*> gradient_names{"gradient_x", "gradient_h", "gradient_c"};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    check_near(gradients[i], golden(gradient_names[i]), gradient_names[i]);
  }
  const auto of_parameters = value_and_grad([&](const T&) { return loss(inputs); }, layer.parameters())(inputs[0]);
  NamedList<Tensor<Any>> named = layer.named_parameters();
  for (std::size_t i = 0; i < named.size(); ++i) named[i].value = of_parameters.second[i];
  check_near(goldens::joined(layer, named, {}), golden("gradients"), "the gradients of parameters");
}

}  // namespace

TEST_CASE_TEMPLATE("recurrent layers compute, learn and load as PyTorch's", M, Eager, Lazy) {
  check_layer<M>("rnn", RNN({.in = 3, .hidden = 4, .dtype = f64}));
  check_layer<M>("rnn_relu",
                 RNN({.in = 3, .hidden = 2, .layers = 2, .bias = false, .dtype = f64}, RecurrentActivation::relu));
  check_layer<M>("lstm", LSTM({.in = 3, .hidden = 4, .dtype = f64}));
  check_layer<M>("lstm_both", LSTM({.in = 3, .hidden = 2, .layers = 2, .bidirectional = true, .dtype = f64}));
  check_layer<M>("lstm_projection",
                 LSTM({.in = 3, .hidden = 4, .layers = 2, .bidirectional = true, .projection = 2, .dtype = f64}));
  check_layer<M>("gru", GRU({.in = 3, .hidden = 4, .dtype = f64}));
  check_layer<M>("gru_both", GRU({.in = 3, .hidden = 2, .layers = 2, .bidirectional = true, .dtype = f64}));
}

TEST_CASE_TEMPLATE("recurrent layers go on from states and hand states on, as PyTorch's", M, Eager, Lazy) {
  check_states<M>("lstm_states", LSTM({.in = 3, .hidden = 2, .layers = 2, .bidirectional = true, .dtype = f64}), true);
  check_states<M>("lstm_projection_states", LSTM({.in = 3, .hidden = 4, .layers = 2, .projection = 3, .dtype = f64}),
                  true);
  check_states<M>("gru_states", GRU({.in = 3, .hidden = 4, .dtype = f64}), false);
}

TEST_CASE_TEMPLATE("attention of several heads computes, learns and loads as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const MultiheadAttentionOptions options{.features = 4, .heads = 2, .dtype = f64};
  check_layer<M>("attention", MultiheadAttention(options));
  const MultiheadAttention causal(options);
  check_module<M>("attention_causal", causal,
                  [&](const T& x, Phase phase) { return causal(x, {.causal = true}, phase); });
  const MultiheadAttention padded({.features = 4, .heads = 2, .bias = false, .dtype = f64});
  check_module<M>("attention_padding", padded, [&](const T& x, Phase phase) {
    return padded(x, {.key_mask = T{{true, true, false}, {true, false, false}}}, phase);
  });
  const MultiheadAttention biased(options);
  check_module<M>("attention_additive", biased, [&](const T& x, Phase phase) {
    return biased(x, {.mask = T{{0.0, 0.5, -1.0}, {0.25, 0.0, 1.0}, {2.0, -0.5, 0.0}}}, phase);
  });
  const MultiheadAttention across({.features = 4, .heads = 2, .key_features = 3, .value_features = 2, .dtype = f64});
  check_module<M>("attention_across", across, [&](const T& x, Phase phase) {
    return across(x(ellipsis, slice(0, 4)), x(ellipsis, slice(4, 7)), x(ellipsis, slice(7, 9)), {}, phase);
  });
}

TEST_CASE_TEMPLATE("keys that attention adds are looked at under every mask, as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const MultiheadAttention extra({.features = 4, .heads = 2, .extra_key = true, .dtype = f64});
  check_module<M>("attention_extra", extra, [&](const T& x, Phase phase) { return extra(x, {.causal = true}, phase); });
  const MultiheadAttention zero({.features = 4, .heads = 2, .zero_key = true, .dtype = f64});
  check_module<M>("attention_zero", zero, [&](const T& x, Phase phase) {
    return zero(x, {.key_mask = T{{true, true, false}, {false, false, false}}}, phase);
  });
  const MultiheadAttention both({.features = 4,
                                 .heads = 2,
                                 .key_features = 3,
                                 .value_features = 2,
                                 .bias = false,
                                 .extra_key = true,
                                 .zero_key = true,
                                 .dtype = f64});
  check_module<M>("attention_extra_across", both, [&](const T& x, Phase phase) {
    return both(x(ellipsis, slice(0, 4)), x(ellipsis, slice(4, 7)), x(ellipsis, slice(7, 9)),
                {.mask = T{{0.0, 0.5, -1.0}, {0.25, 0.0, 1.0}, {2.0, -0.5, 0.0}}}, phase);
  });
}

TEST_CASE_TEMPLATE("attention tells how much each head looks where, as PyTorch's does", M, Eager, Lazy) {
  for (const std::string name : {"attention_weights", "attention_weights_extra"}) {
    CAPTURE(name);
    const bool added = name == "attention_weights_extra";
    const MultiheadAttention attention({.features = 6,
                                        .heads = 2,
                                        .key_features = 4,
                                        .value_features = 3,
                                        .extra_key = added,
                                        .zero_key = added,
                                        .dtype = f64});
    goldens::load_case(attention, name);
    const auto given = [&](const char* what) { return array<M>(layers_file, name + "/" + what); };
    const Tensor<M> weights = attention.weights(given("q"), given("k"), {.key_mask = given("words")});
    check_near(weights, array<Eager>(layers_file, name + "/weights"), "the weights");
  }
}

TEST_CASE_TEMPLATE("blocks of transformers compute, learn and load as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const TransformerOptions options{.features = 4, .heads = 2, .hidden = 5, .dropout = 0, .dtype = f64};
  check_layer<M>("encoder", TransformerEncoderLayer(options));
  const TransformerEncoderLayer encoder({.features = 4,
                                         .heads = 2,
                                         .hidden = 5,
                                         .dropout = 0,
                                         .activation = BlockActivation::gelu,
                                         .norm_first = true,
                                         .dtype = f64});
  check_module<M>("encoder_norm_first", encoder,
                  [&](const T& x, Phase phase) { return encoder(x, {.causal = true}, phase); });
  const TransformerDecoderLayer decoder(options);
  check_module<M>("decoder", decoder, [&](const T& x, Phase phase) {
    return decoder(x(ellipsis, slice(0, 4)), x(ellipsis, slice(4, 8)), {}, {}, phase);
  });
}

TEST_CASE_TEMPLATE("scaled dot-product attention gives PyTorch's values and gradients under every mask", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const auto given = [](const char* what) { return array<M>(layers_file, std::string("sdpa/") + what); };
  const std::map<std::string, AttentionOptions<M>> cases{{"plain", {}},
                                                         {"causal", {.causal = true}},
                                                         {"mask", {.mask = given("boolean_mask")}},
                                                         {"added", {.mask = given("added_mask")}},
                                                         {"scale", {.scale = 0.3}}};
  for (const auto& [name, options] : cases) {
    CAPTURE(name);
    const auto golden = [&](const std::string& what) { return array<Eager>(layers_file, "sdpa/" + name + "/" + what); };
    const AttentionOptions<M>& masks = options;
    const auto attend = [&](const std::vector<T>& in) {
      return scaled_dot_product_attention(in[0], in[1], in[2], masks);
    };
    const std::vector<T> inputs{given("q"), given("k"), given("v")};
    check_near(attend(inputs), golden("y"), "the result");
    const auto loss = [&](const std::vector<T>& in) { return mean(square(attend(in))); };
    const std::vector<T> gradients = vjp(loss, inputs, T::ones({}, f64)).second;
    check_near(gradients[0], golden("gradient_q"), "the gradient of queries");
    check_near(gradients[1], golden("gradient_k"), "the gradient of keys");
    check_near(gradients[2], golden("gradient_v"), "the gradient of values");
  }
}

}  // namespace tyto::nn
