// SPDX-License-Identifier: MIT
// The summary of a model: layers by call, shapes, parameters, multiplications and memory.
#include <doctest/doctest.h>

#include <sstream>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn {
namespace {

Sequential summarised() {
  return {{"conv", Conv2d({.in = 3, .out = 4})},
          {"norm", BatchNorm2d({.channels = 4})},
          tyto::relu,
          Residual(Sequential{Conv2d({.in = 4, .out = 4, .window = 1, .bias = false})}),
          Dropout(0.5),
          Flatten(),
          Linear({.in = 144, .out = 10})};
}

/// The layer of a function template, whose name has brackets and other classes in it.
template <class T>
std::string kind_of_a_local_layer() {
  struct Halved : Layer {
    Tensor<Any> forward(const Tensor<Any>& x, Phase) const override { return 0.5 * x; }
  };
  return summary(Halved(), {1, 2}).layers[0].kind;
}

template <class T>
struct Kept : Layer {
  Tensor<Any> forward(const Tensor<Any>& x, Phase) const override { return x; }
};

}  // namespace

TEST_CASE("layers of a user's own are called by the names of their classes, wherever those stand") {
  CHECK(kind_of_a_local_layer<std::vector<Tensor<Lazy>>>() == "Halved");
  CHECK(summary(Kept<Tensor<Lazy>>(), {1, 2}).layers[0].kind == "Kept");
}

TEST_CASE("a summary has a line for each call of a layer, with what it holds and does") {
  const Sequential model = summarised();
  model.freeze("conv");
  const Summary all = summary(model, {2, 8, 8, 3});
  REQUIRE(all.layers.size() == 11);
  CHECK(all.layers[0].kind == "Sequential");
  CHECK(all.layers[0].name.empty());
  CHECK(all.layers[0].output == Shape{2, 10});
  const LayerSummary& conv = all.layers[1];
  CHECK(conv.name == "conv");
  CHECK(conv.kind == "Conv2d");
  CHECK(conv.depth == 1);
  CHECK(conv.output == Shape{2, 6, 6, 4});
  CHECK(conv.parameters == 3 * 3 * 3 * 4 + 4);
  CHECK(conv.multiply_adds == 2 * 36 * 4 * 27);
  CHECK(conv.planned_bytes >= 2 * 36 * 4 * sizeof(float));
  CHECK(all.layers[2].kind == "BatchNorm2d");
  CHECK(all.layers[2].multiply_adds == 0);
  // The residual block holds its body, which holds the convolution, and its shortcut.
  CHECK(all.layers[4].name == "3");
  CHECK(all.layers[6].name == "3.body.0");
  CHECK(all.layers[6].depth == 3);
  CHECK(all.layers[6].multiply_adds == 2 * 36 * 4 * 4);
  CHECK(all.layers[4].multiply_adds == all.layers[6].multiply_adds);
  CHECK(all.layers[8].kind == "Dropout");
  CHECK(all.layers[8].planned_bytes == 0);
  CHECK(all.parameters == 112 + 8 + 16 + 1450);
  CHECK(all.trained_parameters == all.parameters - 112);
  CHECK(all.state_bytes == (1586 + 8) * sizeof(float) + sizeof(std::int64_t));
  CHECK(all.multiply_adds == conv.multiply_adds + all.layers[4].multiply_adds + 2 * 144 * 10);
  CHECK(all.planned_bytes >= all.bound_bytes);
  CHECK(all.bound_bytes > 0);
  // Looking at a model changes nothing in it.
  CHECK(model.named_buffers()[2].value.item<std::int64_t>() == 0);
}

TEST_CASE("a summary prints as a table with its totals") {
  std::ostringstream out;
  out << summary(summarised(), {1, 8, 8, 3});
  const std::string text = out.str();
  CHECK(text.find("layer") == 0);
  CHECK(text.find("  conv Conv2d") != std::string::npos);
  CHECK(text.find("(1,6,6,4)") != std::string::npos);
  CHECK(text.find("3.89 k") != std::string::npos);
  CHECK(text.find("1586 parameters, 1586 of them trained; states of 6.23 KiB") != std::string::npos);
}

TEST_CASE("a summary has a line for calls with options or states, and counts the products of attention") {
  struct Reader : Layer {
    MultiheadAttention attention{{.features = 8, .heads = 2}};
    GRU gru{{.in = 8, .hidden = 4}};
    Tensor<Any> forward(const Tensor<Any>& x, Phase) const override {
      return gru.run(attention(x, {.causal = true})).output;
    }
    Members members() const override { return {{"attention", attention}, {"gru", gru}}; }
  };
  const Summary all = summary(Reader(), {2, 5, 8});
  REQUIRE(all.layers.size() == 4);
  CHECK(all.layers[1].name == "attention");
  CHECK(all.layers[1].kind == "MultiheadAttention");
  CHECK(all.layers[1].depth == 1);
  CHECK(all.layers[1].output == Shape{2, 5, 8});
  CHECK(!all.layers[1].planned_bytes);
  // Four projections, scores and sums of values.
  CHECK(all.layers[1].multiply_adds == 4 * 2 * 5 * 8 * 8 + 2 * 2 * 5 * 5 * 8);
  CHECK(all.layers[2].name == "attention.out_proj");
  CHECK(all.layers[2].depth == 2);
  CHECK(all.layers[3].name == "gru");
  CHECK(all.layers[3].output == Shape{2, 5, 4});
  CHECK(all.layers[3].multiply_adds == 2 * 5 * 3 * 4 * (8 + 4));
  CHECK(all.multiply_adds == all.layers[1].multiply_adds + all.layers[3].multiply_adds);
  std::ostringstream out;
  out << all;
  CHECK(out.str().find("  attention MultiheadAttention  (2,5,8)") != std::string::npos);
}

TEST_CASE("a profile counts the products of the gradient of attention") {
  using T = Tensor<Lazy>;
  const T q = T::ones({2, 3, 4}), k = T::ones({2, 5, 4}), v = T::ones({2, 5, 6});
  auto f = compile(
      value_and_grad([](const T& a, const T& b, const T& c) { return sum(scaled_dot_product_attention(a, b, c)); },
                     {0, 1, 2}),
      {.passes = "none"});
  std::int64_t forward = 0, backward = 0;
  for (const StepProfile& step : f.profile(q, k, v).steps) {
    if (step.name == "attention") forward += step.multiply_adds;
    if (step.name == "attention_gradient") backward += step.multiply_adds;
  }
  CHECK(forward == 2 * 3 * 5 * (4 + 6));
  CHECK(backward == 2 * 3 * 5 * (3 * 4 + 2 * 6));
}

TEST_CASE("a summary counts the products of all times of a recurrent layer") {
  const LSTM lstm({.in = 3, .hidden = 5});
  CHECK(summary(lstm, {2, 7, 3}).multiply_adds == 2 * 7 * 4 * 5 * (3 + 5));
}

}  // namespace tyto::nn
