// SPDX-License-Identifier: MIT
// Layers: shapes, values, names of parameters, and dropout that drops in training only.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tyto/nn/layers.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn {
namespace {

std::vector<std::string> names(const Layer& layer) {
  std::vector<std::string> list;
  for (const Named<Tensor<Any>>& parameter : layer.named_parameters()) list.push_back(parameter.name);
  return list;
}

/// A network of one's own: x plus two layers of x.
struct Block : Layer {
  Linear first{{.in = 3, .out = 4}};
  Linear second{{.in = 4, .out = 3, .bias = false}};

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override {
    return x + second(tanh(first(x, phase)), phase);
  }
  Members members() const override { return {{"first", first}, {"second", second}}; }
};

}  // namespace

TEST_CASE_TEMPLATE("a linear layer is a matrix product plus a bias", M, Eager, Lazy) {
  using T = Tensor<M>;
  Linear layer({.in = 2, .out = 3});
  assign(layer.weight, Tensor<Any>{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  assign(layer.bias, Tensor<Any>{10.0, 20.0, 30.0});
  CHECK(layer(T{{1.0, 1.0}, {0.0, 2.0}}).template to_vector<float>() == std::vector<float>{15, 27, 39, 18, 30, 42});
  CHECK(layer(T::zeros({4, 5, 2})).shape() == Shape{4, 5, 3});
  CHECK(layer(T::zeros({2})).shape() == Shape{3});
  CHECK(names(layer) == std::vector<std::string>{"weight", "bias"});
  CHECK(names(Linear({.in = 2, .out = 3, .bias = false})) == std::vector<std::string>{"weight"});
}

TEST_CASE_TEMPLATE("convolution layers have as many spatial axes as their names say", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Conv2d same_size({.in = 3, .out = 8, .window = 5, .padding = same});
  CHECK(same_size.weight.shape() == Shape{5, 5, 3, 8});
  CHECK(same_size(T::zeros({2, 7, 6, 3})).shape() == Shape{2, 7, 6, 8});
  const Conv2d strided({.in = 4, .out = 8, .window = {3, 2}, .stride = 2, .groups = 2});
  CHECK(strided.weight.shape() == Shape{3, 2, 2, 8});
  CHECK(strided(T::zeros({1, 7, 6, 4})).shape() == Shape{1, 3, 3, 8});
  CHECK(Conv1d({.in = 2, .out = 4})(T::zeros({1, 9, 2})).shape() == Shape{1, 7, 4});
  CHECK(Conv3d({.in = 1, .out = 2})(T::zeros({1, 4, 5, 6, 1})).shape() == Shape{1, 2, 3, 4, 2});
}

TEST_CASE("a convolution layer adds its bias to every place of a channel") {
  Conv2d layer({.in = 1, .out = 2, .window = 1});
  assign(layer.weight, Tensor<Any>{{{{2.0, 3.0}}}});
  assign(layer.bias, Tensor<Any>{10.0, 20.0});
  const auto y = layer(Tensor<Eager>{{{{1.0}, {2.0}}}});
  CHECK(y.to_vector<float>() == std::vector<float>{12, 23, 14, 26});
}

TEST_CASE_TEMPLATE("pooling and flattening give the shapes that their windows say", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(MaxPool(2)(T::zeros({2, 28, 28, 3})).shape() == Shape{2, 14, 14, 3});
  CHECK(MaxPool({3, 2}, {.stride = 1})(T::zeros({2, 5, 5, 3})).shape() == Shape{2, 3, 4, 3});
  CHECK(AveragePool(2)(T::ones({1, 2, 2, 1})).template to_vector<float>() == std::vector<float>{1});
  CHECK(Flatten()(T::zeros({2, 3, 4, 5})).shape() == Shape{2, 60});
}

TEST_CASE_TEMPLATE("dropout leaves its input alone unless it is being trained", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Dropout layer(0.5);
  const T x = T::ones({1000});
  CHECK(layer(x).template to_vector<float>() == std::vector<float>(1000, 1));
  seed(1);
  const std::vector<float> dropped = layer(x, training).template to_vector<float>();
  CHECK(std::set<float>(dropped.begin(), dropped.end()) == std::set<float>{0, 2});
  const auto kept = std::count(dropped.begin(), dropped.end(), 2.0f);
  CHECK(kept > 420);
  CHECK(kept < 580);
  CHECK(Dropout(0)(x, training).template to_vector<float>() == std::vector<float>(1000, 1));
}

TEST_CASE_TEMPLATE("a compiled step with dropout draws anew each time, the same numbers in both modes", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const Dropout layer(0.5);
  auto step = compile([&](T x) { return layer(x, training); });
  const T x = T::ones({64});
  seed(3);
  const auto first = step(x).template to_vector<float>();
  const auto second = step(x).template to_vector<float>();
  CHECK(first != second);
  seed(3);
  const Tensor<Eager> ones = Tensor<Eager>::ones({64});
  CHECK(layer(ones, training).to_vector<float>() == first);
  CHECK(layer(ones, training).to_vector<float>() == second);
  auto use = compile([&](T y) { return layer(y); });
  CHECK(use(x).template to_vector<float>() == std::vector<float>(64, 1));
}

TEST_CASE_TEMPLATE("a sequence runs layers and functions one after the other", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model{
      Conv2d({.in = 1, .out = 2, .padding = same}),   tyto::relu, MaxPool(2), Flatten(), Linear({.in = 8, .out = 3}),
      [](const Tensor<Any>& x) { return softmax(x); }};
  CHECK(names(model) == std::vector<std::string>{"0.weight", "0.bias", "4.weight", "4.bias"});
  CHECK(model.parameters().size() == 4);
  const T y = model(T::ones({5, 4, 4, 1}));
  CHECK(y.shape() == Shape{5, 3});
  CHECK(sum(y).template item<float>() == doctest::Approx(5));
}

TEST_CASE_TEMPLATE("a network of one's own joins the parameters of its layers", M, Eager, Lazy) {
  const Block block;
  CHECK(names(block) == std::vector<std::string>{"first.weight", "first.bias", "second.weight"});
  CHECK(block(Tensor<M>::ones({2, 3})).shape() == Shape{2, 3});
  const Sequential two{block, tyto::tanh, Block()};
  CHECK(names(two).size() == 6);
  CHECK(names(two)[3] == "2.first.weight");
}

TEST_CASE("weights start where the seed says, within the limits of their initialiser") {
  const auto weights = [](const Initialiser& initial) {
    seed(7);
    return Linear({.in = 50, .out = 100, .initial = initial}).weight.to_vector<float>();
  };
  const auto largest = [](const std::vector<float>& values) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    return most;
  };
  CHECK(weights(glorot_uniform) == weights(glorot_uniform));
  CHECK(largest(weights(glorot_uniform)) == doctest::Approx(0.2).epsilon(0.01));
  CHECK(largest(weights(he_uniform)) == doctest::Approx(std::sqrt(6.0 / 50)).epsilon(0.01));
  CHECK(largest(weights(lecun_uniform)) == doctest::Approx(1 / std::sqrt(50.0)).epsilon(0.01));
  CHECK(largest(weights(uniform_weights(3))) == doctest::Approx(3).epsilon(0.01));
  CHECK(weights(constant_weights(0.5)) == std::vector<float>(5000, 0.5f));
  for (const auto& [initial, stddev] : {std::pair<Initialiser, double>(glorot_normal, std::sqrt(2.0 / 150)),
                                        {he_normal, std::sqrt(2.0 / 50)},
                                        {normal_weights(4), 4}}) {
    double squares = 0;
    for (const float value : weights(initial)) squares += static_cast<double>(value) * static_cast<double>(value);
    CHECK(std::sqrt(squares / 5000) == doctest::Approx(stddev).epsilon(0.05));
  }
}

TEST_CASE("orthogonal weights are so whatever their shape, and truncated ones end at two deviations") {
  seed(11);
  const auto gram = [](const Tensor<Any>& weight, bool of_columns) {
    const Tensor<Any> m = reshape(weight, {-1, weight.shape().back()});
    return (of_columns ? matmul(transpose(m), m) : matmul(m, transpose(m))).to_vector<double>();
  };
  const auto check_identity = [](const std::vector<double>& found, double diagonal) {
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(found.size()))));
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(std::abs(found[i] - (i % (side + 1) == 0 ? diagonal : 0)) < 1e-12);
    }
  };
  const LinearOptions tall{.in = 7, .out = 4, .initial = orthogonal_weights(), .dtype = DType::f64};
  check_identity(gram(Linear(tall).weight, true), 1);
  const LinearOptions wide{.in = 3, .out = 5, .initial = orthogonal_weights(2), .dtype = DType::f64};
  check_identity(gram(Linear(wide).weight, false), 4);
  const Conv2d kernel({.in = 2, .out = 6, .initial = orthogonal_weights(), .dtype = DType::f64});
  check_identity(gram(kernel.weight, true), 1);
  CHECK(Linear({.in = 4, .out = 4, .initial = orthogonal_weights(), .dtype = DType::f16}).weight.dtype() == DType::f16);
  CHECK_THROWS_WITH_AS(orthogonal_weights()({3}, {}, DType::f32),
                       "orthogonal_weights: the shape (3,) must have at least 2 axes", ShapeError);
  // Of a normal distribution cut at two deviations the deviation is 0.8796 of the whole one's.
  const std::vector<float> cut =
      Linear({.in = 100, .out = 200, .initial = truncated_normal_weights(0.5)}).weight.to_vector<float>();
  double squares = 0;
  for (const float value : cut) {
    squares += static_cast<double>(value) * static_cast<double>(value);
    CHECK_UNARY(std::abs(value) <= 1.0f);
  }
  CHECK(std::sqrt(squares / 20000) == doctest::Approx(0.5 * 0.87963).epsilon(0.02));
}

TEST_CASE_TEMPLATE(
    "noise is normal with the stated moments in training, its gradient what it multiplies by, and none else", M, Eager,
    Lazy) {
  using T = Tensor<M>;
  seed(5);
  constexpr std::int64_t count = 40000;
  const T x = T::full({count}, 3.0, DType::f64);
  // The largest distance of the distribution of values from the normal one: 1.63 / sqrt(n) in one of a hundred draws.
  const auto check_normal = [&](const T& y, double mean, double deviation) {
    std::vector<double> values = y.template to_vector<double>();
    std::sort(values.begin(), values.end());
    double apart = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = 0.5 * std::erfc(-(values[i] - mean) / deviation / std::sqrt(2.0));
      apart = std::max(apart, std::abs(expected - (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
    }
    CHECK(apart < 1.63 / std::sqrt(static_cast<double>(count)));
  };
  const auto gradient_and_value = [&](const Layer& layer) {
    const auto both = value_and_grad([&](const T& in) {
      const T y = layer(in, training);
      return std::pair(sum(y), y);
    })(x);
    return std::pair(both.second[0], both.first.second);
  };
  const auto [gradient, noisy] = gradient_and_value(GaussianNoise(0.5));
  check_normal(noisy, 3, 0.5);
  CHECK(gradient.template to_vector<double>() == std::vector<double>(count, 1.0));
  const auto [factors, multiplied] = gradient_and_value(GaussianDropout(0.2));
  check_normal(multiplied, 3, 3 * std::sqrt(0.2 / 0.8));
  check_normal(factors, 1, std::sqrt(0.2 / 0.8));
  CHECK(array_equal(multiplied, 3.0 * factors));
  CHECK(array_equal(GaussianNoise(0.5)(x), x));
  CHECK(array_equal(GaussianDropout(0.2)(x), x));
  // Whole channels of a sample fall together.
  const T picture = ChannelDropout(0.5)(T::ones({3, 4, 5, 50}), training);
  CHECK(array_equal(picture, broadcast_to(picture(all, slice(0, 1), slice(0, 1)), picture.shape())));
  CHECK_THROWS_WITH_AS(GaussianNoise(-1), "GaussianNoise: the deviation -1 must be finite and at least 0", ValueError);
}

TEST_CASE_TEMPLATE("unfolded patches times kernels are a convolution, and folding adds up what overlaps", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T x = T::arange(2 * 5 * 6 * 3).reshape({2, 5, 6, 3}).astype(DType::f64);
  const T kernels = (T::arange(2 * 3 * 3 * 4) % 7).reshape({2, 3, 3, 4}).astype(DType::f64);
  for (const PatchOptions& options : {PatchOptions{}, PatchOptions{.stride = {1, 2}, .padding = same}}) {
    const T direct = convolution(x, kernels, {.stride = options.stride, .padding = options.padding});
    const T patches = Unfold({2, 3}, options)(x);
    CHECK(array_equal(matmul(patches, kernels.reshape({-1, 4})).reshape(direct.shape()), direct));
    // <fold(p), x> = <p, unfold(x)> for any p.
    const T p = (T::arange(patches.size()) % 5).reshape(patches.shape()).astype(DType::f64);
    CHECK(sum(Fold({5, 6}, {2, 3}, options)(p) * x).template item<double>() ==
          sum(p * patches).template item<double>());
  }
  CHECK(Unfold(2)(T::zeros({1, 6, 3})).shape() == Shape{1, 5, 6});
  CHECK(max_unpool(T{{{5.0}, {6.0}}}, T{{{1}, {2}}}, 2).template to_vector<float>() == std::vector<float>{0, 5, 6, 0});
}

TEST_CASE_TEMPLATE("a spectral norm follows the largest singular value, in training only", M, Eager, Lazy) {
  using T = Tensor<M>;
  seed(4);
  const SpectralNorm layer(Linear({.in = 5, .out = 4, .bias = false, .dtype = DType::f64}));
  const double largest = max(linalg::svdvals(layer.original)).template item<double>();
  const T eye = T::eye(5, 5, 0, DType::f64);
  const auto error = [&] {
    return sum(square(layer(eye) * largest - T(layer.original.value()))).template item<double>();
  };
  CHECK(error() < 1e-2);
  const double before = error();
  CHECK(error() == before);
  auto step = compile([&](T in) { return layer(in, training); });
  for (int i = 0; i < 200; ++i) (void)step(eye);
  CHECK(error() < 1e-20);
  CHECK(layer.named_parameters().size() == 1);
  CHECK(layer.named_buffers()[1].name == "parametrizations.weight.0._v");
}

TEST_CASE("a window of a local response norm that is wider than all channels sums them all") {
  const Tensor<Eager> x{{1.0, 2.0}};
  const LocalResponseNorm norm({.size = 1'000'001, .alpha = 1'000'001, .beta = 1, .k = 1});
  CHECK(allclose(norm(x), Tensor<Eager>{{1.0 / 6, 2.0 / 6}}));
}

TEST_CASE_TEMPLATE("a pooled norm of squares is curved where an element is zero", M, Eager, Lazy) {
  using T = Tensor<M>;
  const PowerPool pool(2, 2);
  const auto norm = [&](const T& x) { return sum(pool(x)); };
  const T x = reshape(T{0.0, 3.0, -4.0, 0.0}.astype(DType::f64), {1, 2, 2, 1});
  const auto gradient = [&](const T& v) { return sum(grad(norm)(v)(0, all, 0, 0) * T{1.0, 0.0}.astype(DType::f64)); };
  // The norm r is 5: x / r by itself is 1 / r - x^2 / r^3, by another element -x y / r^3.
  CHECK(grad(gradient)(x).template to_vector<double>()[0] == doctest::Approx(0.2));
}

TEST_CASE("layers refuse what does not fit, by name and shape") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(Linear({.in = 2, .out = 3})(T::zeros({4, 5})), "Linear: the last axis of x (4,5) must be 2",
                       ShapeError);
  CHECK_THROWS_WITH_AS(Linear({.in = 2}), "Linear: in = 2 and out = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(Conv2d({.in = 3, .out = 4})(T::zeros({1, 8, 8, 2})),
                       "Conv2d: x (1,8,8,2) must have 4 axes, the last of 3 channels", ShapeError);
  CHECK_THROWS_WITH_AS(Conv2d({.in = 3, .out = 4, .groups = 2}), "Conv2d: groups = 2 must divide in = 3 and out = 4",
                       ValueError);
  CHECK_THROWS_WITH_AS(Conv2d({.in = 3, .out = 4, .window = {3, 3, 3}}),
                       "Conv2d: the window (3,3,3) must have 1 or 2 lengths", ShapeError);
  CHECK_THROWS_WITH_AS(LocalResponseNorm({}), "LocalResponseNorm: size = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(PowerPool(0, 2), "PowerPool: the power 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(Unfold(4)(T::zeros({1, 3, 3, 1})), "Unfold: windows of (4,4) do not fit into space of (3,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(Unfold({1, 2, 3})(T::zeros({1, 3, 3, 1})), "Unfold: the window (1,2,3) must have 1 or 2 lengths",
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      Fold({3, 3}, 2)(T::zeros({1, 9, 4})),
      "Fold: patches (1,9,4) must be (batch, 4, a multiple of 4) for windows of (2,2) in space of (3,3)", ShapeError);
  CHECK_THROWS_WITH_AS(max_pool_with_indices(T::zeros({1, 3, 1}), 2, {.ceil_mode = true}),
                       "max_pool_with_indices: channels lie last, and no window reaches beyond the end", ValueError);
  CHECK_THROWS_WITH_AS(max_unpool(T::zeros({1, 3, 1}), T::zeros({1, 3, 1}), 2),
                       "max_unpool: the indices (1,3,1) of f32 must be integers in the shape of the values (1,3,1)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(SpectralNorm(Linear({.in = 2, .out = 2}), 0)(T::ones({1, 2}), training),
                       "SpectralNorm: 0 iterations; at least 1 is needed", ValueError);
  CHECK_THROWS_WITH_AS(Dropout(1), "Dropout: the rate 1 must be in [0, 1)", ValueError);
}

}  // namespace tyto::nn
