// SPDX-License-Identifier: MIT
// Layers made of layers: steps with the phase, names, branches and shortcuts; modules of several inputs.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn {
namespace {

/// A network of two inputs.
struct Matcher : Module {
  Linear left{{.in = 2, .out = 3, .bias = false, .initial = constant_weights(1)}};
  Linear right{{.in = 4, .out = 3, .bias = false, .initial = constant_weights(2)}};

  template <class M>
  Tensor<M> operator()(const Tensor<M>& a, const Tensor<M>& b) const {
    return sum(left(a) * right(b), -1);
  }
  Members members() const override { return {{"left", left}, {"right", right}}; }
};

}  // namespace

TEST_CASE_TEMPLATE("a function among the steps of a sequence may take the phase", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model{[](const Tensor<Any>& x, Phase phase) { return phase == training ? x * 10 : x; },
                         [](const Tensor<Any>& x) { return x + 1; }};
  CHECK(model(T{1.0, 2.0}).template to_vector<float>() == std::vector<float>{2, 3});
  CHECK(model(T{1.0, 2.0}, training).template to_vector<float>() == std::vector<float>{11, 21});
  CHECK(model.named_states().empty());
}

TEST_CASE_TEMPLATE("branches are given one input, and their results are added, joined or combined", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, -2.0}};
  CHECK(Sum({ReLU(), Identity(), tyto::square})(x).template to_vector<float>() == std::vector<float>{3, 2});
  CHECK(Concatenate({ReLU(), Identity()})(x).template to_vector<float>() == std::vector<float>{1, 0, 1, -2});
  CHECK(Concatenate({ReLU(), Identity()}, 0)(x).shape() == Shape{2, 2});
  const Parallel product({Linear({.in = 2, .out = 1}), {"gate", Linear({.in = 2, .out = 1})}},
                         [](const std::vector<Tensor<Any>>& each) { return each[0] * each[1]; });
  CHECK(product(x).shape() == Shape{1, 1});
  CHECK(product.named_parameters()[0].name == "0.weight");
  CHECK(product.named_parameters()[2].name == "gate.weight");
}

TEST_CASE_TEMPLATE("a residual layer adds its input, or what a shortcut makes of it", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, 2.0}};
  CHECK(Residual(tyto::square)(x).template to_vector<float>() == std::vector<float>{2, 6});
  const Residual projected(Linear({.in = 2, .out = 1, .bias = false, .initial = constant_weights(1)}),
                           Linear({.in = 2, .out = 1, .bias = false, .initial = constant_weights(10)}));
  CHECK(projected(x).template to_vector<float>() == std::vector<float>{33});
  CHECK(projected.named_parameters()[1].name == "shortcut.weight");
}

TEST_CASE_TEMPLATE("a module of several inputs is trained as a layer is", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Matcher model;
  CHECK(model(T{{1.0, 1.0}}, T{{1.0, 0.0, 0.0, 0.0}}).template to_vector<float>() == std::vector<float>{12});
  Descent descent = sgd({.rate = 0.01});
  auto step = compile([&](T a, T b) {
    auto [loss, gradients] =
        value_and_grad([&](const T& u, const T& v) { return mean(square(model(u, v))); }, model.parameters())(a, b);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  const float first = step(T{{1.0, 1.0}}, T{{1.0, 0.0, 0.0, 0.0}}).template item<float>();
  CHECK(step(T{{1.0, 1.0}}, T{{1.0, 0.0, 0.0, 0.0}}).template item<float>() < first);
}

TEST_CASE("sequences are built step by step, and reshape samples alone") {
  using T = Tensor<Eager>;
  Sequential model{Reshape({3, -1})};
  model.steps.emplace_back(Flatten());
  model.steps.emplace_back("last", Identity());
  CHECK(model(T::zeros({5, 6})).shape() == Shape{5, 6});
  CHECK(model.steps[2].name() == "last");
  CHECK(Flatten(nchw)(T::arange(8).reshape({1, 2, 2, 2})).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{0, 2, 4, 6, 1, 3, 5, 7});
}

TEST_CASE("containers refuse what does not fit together") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(Residual(Linear({.in = 2, .out = 3}))(T::zeros({1, 2})),
                       "Residual: the body makes (1,3) of x (1,2), the shortcut (1,2); they must be equal", ShapeError);
  CHECK_THROWS_WITH_AS(Sum({}), "Parallel: at least one branch is needed", ValueError);
  CHECK_THROWS_WITH_AS(Reshape({2})(T::zeros({})), "Reshape: x () has no axis of samples", ShapeError);
}

}  // namespace tyto::nn
