// SPDX-License-Identifier: MIT
// Mixed precision: products in 16 bits under parameters in f32, and the loss scale against PyTorch's.
#include <limits>
#include <tyto/nn.hpp>

#include "tests/nn/goldens_of.hpp"

namespace tyto::nn {
namespace {

Sequential pictures() {
  seed(3);
  return {Conv2d({.in = 2, .out = 4, .padding = 1}), BatchNorm2d({.channels = 4}), tyto::relu, Flatten(),
          Linear({.in = 64, .out = 3})};
}

}  // namespace

TEST_CASE_TEMPLATE("layers multiply in the type asked for, and their parameters stay as they are", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model = pictures();
  const T x = T::normal({4, 4, 4, 2}, {.key = Key{1, 0}});
  const T exact = model(x);
  for (const DType half : {DType::bf16, DType::f16}) {
    const Autocast cast_to(half);
    const T y = model(x);
    CHECK(y.dtype() == half);
    CHECK(allclose(y.astype(DType::f32), exact, 0.05, 0.05));
    CHECK(model.parameters()[0].dtype() == DType::f32);
    const auto [loss, gradients] = value_and_grad(
        [&](const T& in) { return mean(square(model(in, training).astype(DType::f32))); }, model.parameters())(x);
    CHECK(loss.dtype() == DType::f32);
    CHECK(gradients[0].dtype() == DType::f32);
  }
  CHECK(model(x).dtype() == DType::f32);
  {
    const Autocast half(DType::bf16);
    CHECK(LSTM({.in = 2, .hidden = 3})(T::ones({1, 4, 2})).dtype() == DType::bf16);
    CHECK(MultiheadAttention({.features = 4, .heads = 2})(T::ones({1, 4, 4})).dtype() == DType::bf16);
    CHECK(LayerNorm({.shape = {4}})(T::ones({1, 4, 4})).dtype() == DType::f32);
  }
}

TEST_CASE_TEMPLATE("a network learns with products in bf16 and a scaled loss", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model = pictures();
  Descent descent = adam({.rate = 0.01});
  LossScale scale({.first = 1024});
  auto step = compile([&](T x, T t) {
    const Autocast half(DType::bf16);
    const auto objective = [&](const T& in) {
      return scale.scaled(tyto::cross_entropy(model(in, training).astype(DType::f32), t));
    };
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(x);
    const T shown = scale.unscaled(loss);
    scale.step(descent, model.parameters(), gradients);
    return shown;
  });
  const T x = T::normal({6, 4, 4, 2}, {.key = Key{1, 0}});
  const T t{0, 1, 2, 0, 1, 2};
  const float first = step(x, t).template item<float>();
  float last = first;
  for (int i = 0; i < 20; ++i) last = step(x, t).template item<float>();
  CHECK(last < 0.3f * first);
  CHECK(descent.count() == 21);
}

TEST_CASE_TEMPLATE("gradients that overflow are not used, and the scale falls and grows as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const std::string file = goldens::descent_file;
  const T w = T::variable(goldens::array<M>(file, "given/weights").astype(DType::f32), "w");
  const T gradients = goldens::array<M>(file, "given/gradients").astype(DType::f32);
  Descent descent = sgd({.rate = 0.125});
  LossScale scale({.first = 8, .growth_interval = 3});
  auto step = compile([&](T gradient, T factor) {
    auto [loss, found] =
        value_and_grad([&](const T& g) { return scale.scaled(sum(w * g * factor)); }, std::vector{w})(gradient);
    scale.step(descent, std::vector{w}, found);
    return loss;
  });
  const std::vector<double> scales = goldens::array<Eager>(file, "scale/scales").to_vector<double>();
  std::vector<T> values;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const float factor = i == 3 || i == 6 ? INFINITY : 1.0f;
    (void)step(copy(std::as_const(gradients)(i)), T::full({}, factor, DType::f32));
    CHECK(scale.current() == scales[i]);
    values.push_back(T::from(w.template to_vector<float>(), w.shape()));
  }
  goldens::check_near(stack(values), goldens::array<Eager>(file, "scale/weights"), "the weights after each update");
  CHECK(descent.count() == 6);
  CHECK(scale.state()[0].name == "scale");
}

TEST_CASE_TEMPLATE("gradients are clipped as those of the loss, and a skipped update changes no state", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  // The loss is 3 a + 4 b with gradients 3 and 4 of the norm 5: clipped to 1 they are 0.6 and 0.8.
  const T a = T::variable(T{0.0}, "a"), b = T::variable(T{0.0}, "b");
  Descent descent = sgd({.rate = 1.0, .momentum = 0.5});
  LossScale scale({.first = 1024});
  auto step = compile([&](T factor) {
    const auto objective = [&](const T& by) { return scale.scaled(sum((3 * a + 4 * b) * by)); };
    auto [loss, gradients] = value_and_grad(objective, std::vector{a, b})(factor);
    scale.step(descent, std::vector{a, b}, gradients,
               [](const auto& values) { return clip_by_global_norm(values, 1.0); });
    return loss;
  });
  const auto states = [&] {
    std::vector<float> all;
    for (const auto& state : descent.state({{"a", Tensor<Any>(a.value())}, {"b", Tensor<Any>(b.value())}})) {
      all.push_back(cast(state.value, DType::f32).template item<float>());
    }
    return all;
  };
  CHECK(step(T{1.0}).template item<float>() == 0);
  CHECK(a.template item<float>() == doctest::Approx(-0.6));
  CHECK(b.template item<float>() == doctest::Approx(-0.8));
  const std::vector<float> before = states();
  REQUIRE(before.size() >= 2);
  const float was_a = a.template item<float>(), was_b = b.template item<float>();
  for (const float overflow : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    (void)step(T{overflow});
    CHECK(states() == before);
    CHECK(a.template item<float>() == was_a);
    CHECK(b.template item<float>() == was_b);
    CHECK(descent.count() == 1);
  }
  CHECK(scale.current() == 256);
  (void)step(T{0.1});  // a norm of 0.5 stays as it is, whatever the scale; the momentum adds half of the step before
  CHECK(a.template item<float>() == doctest::Approx(-0.6 - (0.3 + 0.3)));
  CHECK(b.template item<float>() == doctest::Approx(-0.8 - (0.4 + 0.4)));
}

TEST_CASE_TEMPLATE("a scale stops growing before it is infinite, as PyTorch's", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T w = T::variable(T{1.0}, "w");
  Descent descent = sgd({.rate = 0.5});
  LossScale scale({.first = 1e38, .growth = 2, .growth_interval = 1});
  for (int i = 1; i <= 4; ++i) {
    auto [loss, gradients] =
        value_and_grad([&](const T& x) { return scale.scaled(sum(w * x)); }, std::vector{w})(T{1e-3});
    scale.step(descent, std::vector{w}, gradients);
    CHECK(scale.current() == static_cast<double>(2e38f));
    CHECK(descent.count() == i);
  }
  CHECK(w.template item<float>() == doctest::Approx(0.998));
}

TEST_CASE("mixed precision refuses types and scales that make no sense") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(Autocast{DType::i32}, "Autocast: i32 is no type to multiply in; a floating type is expected",
                       TypeError);
  CHECK_THROWS_WITH_AS(
      LossScale({.backoff = 1}),
      "LossScale: first = 65536 must be positive, growth = 2 at least 1, and backoff = 1 between 0 and 1", ValueError);
  CHECK_THROWS_WITH_AS(LossScale({.growth_interval = 0}), "LossScale: the growth interval 0 must be at least 1",
                       ValueError);
  const T w = T::variable(T::ones({2}), "w");
  CHECK_THROWS_WITH_AS(sgd().update_where(T{1.0, 0.0}, std::vector{w}, std::vector{w}),
                       "sgd: the condition of an update is f32 of shape (2,); one bool is expected", ShapeError);
}

}  // namespace tyto::nn
