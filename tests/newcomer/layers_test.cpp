// SPDX-License-Identifier: MIT
// Layers of one's own: forgotten members are reported, copies are independent, and the phase reaches inner layers.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;
using AnyTensor = Tensor<Any>;

namespace {

struct Forgetful : nn::Layer {
  nn::Linear a{{.in = 3, .out = 3}};
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return a(x); }
};
struct HalfForgetful : nn::Layer {
  nn::Linear a{{.in = 3, .out = 3}}, b{{.in = 3, .out = 3}};
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return b(a(x)); }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Careful : nn::Layer {
  nn::Linear a{{.in = 3, .out = 3}}, teacher{{.in = 3, .out = 3}};
  nn::Sequential steps{nn::ReLU(), [this](const AnyTensor& x) { return x + teacher(x); }};
  Careful() { teacher.freeze(); }
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return a(x) + teacher(x); }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Scaled : nn::Layer {  // forgets its scale
  nn::Linear a{{.in = 3, .out = 3}};
  AnyTensor scale = AnyTensor::variable(0.0, "scale");
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return scale * a(x); }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Added : nn::Module {  // forgets its bias
  nn::Linear a{{.in = 3, .out = 3}};
  AnyTensor bias = AnyTensor::variable(0.0, "bias");
  template <class T>
  T operator()(const T& x) const {
    return nn::as_call(*this, nn::inference, [&] { return a(x) + bias; });
  }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Repeated : nn::Layer {  // reads its variable in the body of a loop
  AnyTensor rate = AnyTensor::variable(0.0, "rate"), kept = AnyTensor::persistent(1.0, "kept");
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
    return fori_loop(0, 3, x, [&](const AnyTensor&, const AnyTensor& y) { return y * kept + rate + rate; });
  }
};
struct Decoder : nn::Layer {  // reads the weight of another layer
  const nn::Linear& encoder;
  AnyTensor bias = AnyTensor::variable(AnyTensor::zeros({3}), "bias");
  explicit Decoder(const nn::Linear& layer) : encoder(layer) {}
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
    return matmul(x, transpose(encoder.weight)) + bias;
  }
  nn::Members members() const override { return {{"bias", bias}}; }
};
struct Adapted : nn::Layer {  // reads a weight that is trained elsewhere
  const nn::Linear& base;
  nn::Linear a{{.in = 3, .out = 3}};
  bool once_more;
  Adapted(const nn::Linear& layer, bool reads_it_plainly) : base(layer), once_more(reads_it_plainly) {}
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
    const AnyTensor y = a(x) + matmul(x, stop_gradient(base.weight));
    return once_more ? y + matmul(x, base.weight) : y;
  }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Descending : nn::Layer {  // takes a gradient by a variable of its own
  nn::Linear a{{.in = 3, .out = 3}};
  AnyTensor fast = AnyTensor::variable(AnyTensor::zeros({3}), "fast");
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
    const auto energy = [&](const AnyTensor& v) { return AnyTensor(sum(square(a(v) + fast))); };
    return a(x) - grad(energy, std::vector<AnyTensor>{fast})(x)[0];  // a(x) - 2 a(x)
  }
  nn::Members members() const override { return {{"a", a}}; }
};
struct Sized : nn::Layer {  // knows the shape of its scale when it is called
  nn::Linear a{{.in = 3, .out = 3}};
  mutable std::optional<AnyTensor> scale = std::nullopt;
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
    if (!scale) scale = AnyTensor::variable(0.0, "scale");
    return *scale * a(x);
  }
  nn::Members members() const override {
    if (!scale) return {{"a", a}};
    return {{"a", a}, {"scale", *scale}};
  }
};
struct Dropping : nn::Layer {  // hands no phase on
  nn::Dropout d{0.5};
  nn::BatchNorm1d norm{{.channels = 6}};
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return norm(d(x)); }
  nn::Members members() const override { return {{"d", d}, {"norm", norm}}; }
};
struct Quiet : nn::Layer {
  nn::Dropout d{0.5};
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return d(x, nn::inference); }
};

}  // namespace

BOTH_MODES("a layer that members() does not list is told of in the first call") {
  const Tensor<Mode> x = Tensor<Mode>::ones({1, 3});
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(Forgetful()(x),
                         "Forgetful: forward() calls a Linear that members() does not list, so its parameters would be "
                         "neither trained nor saved; list it, {\"name\", layer}, or freeze() it",
                         ValueError);
  }
  const nn::Sequential outer{nn::ReLU(), HalfForgetful()};
  CHECK_THROWS_WITH_AS(outer(x), doctest::Contains("HalfForgetful: forward() calls a Linear that members()"),
                       ValueError);
}

BOTH_MODES("a variable that members() does not list is told of in the first call that a gradient is taken of") {
  using T = Tensor<Mode>;
  const T x = T::ones({1, 3});
  const auto refused = [&x](const auto& model, const std::string& said) {
    const auto loss = [&model](const T& in) { return T(sum(model(in))); };
    auto step = compile([&](T in) { return value_and_grad(loss, model.parameters())(in).first; });
    CHECK(model(x).shape() == Shape{1, 3});
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_WITH_AS(value_and_grad(loss, model.parameters())(x), said.c_str(), ValueError);
      CHECK_THROWS_WITH_AS(step(x), said.c_str(), ValueError);
    }
  };
  const std::string of_scaled =
      "members() does not list the variable 'scale' that Scaled reads, so it would be neither trained nor saved; list "
      "it, {\"name\", tensor}, hand it in as stop_gradient(tensor), or make it a Tensor::persistent";
  refused(Scaled(), of_scaled);
  refused(nn::Sequential{nn::ReLU(), Scaled()}, of_scaled + " (in 1)");
  refused(Added(),
          "members() does not list the variable 'bias' that Added reads, so it would be neither trained nor "
          "saved; list it, {\"name\", tensor}, hand it in as stop_gradient(tensor), or make it a Tensor::persistent");
}

BOTH_MODES("variables that are listed, trained all the same, handed in, frozen or outside of a layer are no error") {
  using T = Tensor<Mode>;
  const auto loss_of = [](const auto& model, const T& x, const std::vector<AnyTensor>& parameters) {
    auto step =
        compile([&](T in) { return value_and_grad([&](T v) { return T(sum(model(v))); }, parameters)(in).first; });
    return step(x).template item<double>();
  };
  const T x = T::ones({1, 3});
  const Scaled scaled;  // at first 0, trained as one of the parameters that are given
  std::vector<AnyTensor> parameters = scaled.a.parameters();
  parameters.push_back(scaled.scale);
  CHECK(loss_of(scaled, x, parameters) == 0);
  const Repeated repeated;
  CHECK(loss_of(repeated, x, {repeated.rate}) == 3);
  const Sized sized;
  CHECK(loss_of(sized, x, sized.parameters()) == 0);
  CHECK(sized.parameters().size() == 3);
  const nn::Linear base({.in = 3, .out = 3});
  const Adapted adapted(base, false), plainly(base, true);
  CHECK(std::isfinite(loss_of(adapted, x, adapted.parameters())));
  auto of_plainly = value_and_grad([&](T v) { return T(sum(plainly(v))); }, plainly.parameters());
  CHECK_THROWS_WITH_AS(of_plainly(x), doctest::Contains("members() does not list the variable"), ValueError);
  const Descending descending;
  const double of_a = T(sum(descending.a(x))).template item<double>();
  CHECK(loss_of(descending, x, descending.parameters()) == doctest::Approx(-of_a));
  const nn::PReLU halved({.initial = 0.5});
  const T data = T::variable(-x, "data");
  const auto of_data = value_and_grad([&](T) { return sum(halved(data)); }, halved.parameters())(x);
  CHECK(of_data.first.template item<double>() == -1.5);
  const Careful careful;
  CHECK(std::isfinite(loss_of(careful, x, careful.parameters())));
  const AnyTensor elsewhere = AnyTensor::variable(2.0, "elsewhere");
  const nn::Sequential with_function{[&](const AnyTensor& in) { return in * elsewhere; }, nn::PReLU()};
  CHECK(loss_of(with_function, x, with_function.parameters()) == 6);
  const nn::Linear generator({.in = 3, .out = 3}), critic({.in = 3, .out = 1});
  const auto both = [&](const T& in) { return critic(generator(in)); };
  CHECK(loss_of(both, x, critic.parameters()) == loss_of(both, x, generator.parameters()));
}

BOTH_MODES("a trained weight may be read by two layers, in loops and compiled functions too") {
  using T = Tensor<Mode>;
  const nn::Linear encoder({.in = 3, .out = 3});
  const Decoder first(encoder), second(encoder), third(encoder);
  const T x = T::ones({2, 3});
  const auto trained = [&](const Decoder& decoder, const auto& loss) {
    std::vector<AnyTensor> parameters = encoder.parameters();
    parameters.push_back(decoder.bias);
    auto step = compile([&](T in) {
      const auto [value, gradients] = value_and_grad(loss, parameters)(in);
      return std::vector<T>{value, T(sum(gradients[0]))};
    });
    std::vector<double> numbers;
    for (const T& each : step(x)) numbers.push_back(each.template item<double>());
    return numbers;
  };
  const auto plain = trained(first, [&](T y) {
    for (int i = 0; i < 3; ++i) y = first(tanh(encoder(y)));
    return T(sum(y));
  });
  const auto looped = trained(second, [&](const T& in) {
    return T(sum(fori_loop(0, 3, in, [&](const T&, const T& y) { return T(second(tanh(encoder(y)))); })));
  });
  auto compiled = compile([&](T y) {
    for (int i = 0; i < 3; ++i) y = third(tanh(encoder(y)));
    return T(sum(y));
  });
  const auto called = trained(third, [&](const T& in) { return compiled(in); });
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(looped[i] == doctest::Approx(plain[i]).epsilon(1e-5));
    CHECK(called[i] == doctest::Approx(plain[i]).epsilon(1e-5));
  }
}

BOTH_MODES("frozen layers, layers without states and functions of a Sequential may call what they do not list") {
  using T = Tensor<Mode>;
  CHECK(Careful()(T::ones({1, 3})).shape() == Shape{1, 3});
  const nn::Linear elsewhere({.in = 3, .out = 2});
  const nn::Sequential with_function{[&](const AnyTensor& x) { return elsewhere(x); }, nn::ReLU()};
  CHECK(with_function(T::ones({1, 3})).shape() == Shape{1, 2});
  // Listed by the outermost, though not by the layer in between, as tied weights are.
  struct Reader : nn::Layer {
    const nn::Linear* shared;
    explicit Reader(const nn::Linear& of) : shared(&of) {}
    AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return (*shared)(x); }
  };
  const nn::Sequential tied{elsewhere, nn::Linear({.in = 2, .out = 3}), Reader(elsewhere)};
  CHECK(tied(T::ones({1, 3})).shape() == Shape{1, 2});
}

BOTH_MODES("an update without parameters is refused") {
  nn::Descent descent = nn::sgd({.rate = 0.1});
  const std::vector<Tensor<Mode>> none;
  CHECK_THROWS_WITH_AS(descent.update(none, none),
                       "sgd: the list of parameters is empty; a layer's are those of its members()", ValueError);
  CHECK(descent.count() == 0);
}

BOTH_MODES("an inner call has the phase of the outer one unless it says another") {
  using T = Tensor<Mode>;
  const T x = T::ones({4, 6}) * T::arange(4).reshape({4, 1}).astype(DType::f32);
  seed(1);
  const Dropping model;
  const Numbers trained = numbers(model(x, nn::training));
  double mean_of_column = 0;
  for (std::size_t i = 0; i < 4; ++i) mean_of_column += trained[6 * i];
  CHECK(std::abs(mean_of_column) < 1e-5);  // normalised by the batch
  CHECK(numbers(model.norm.running_mean) != Numbers(6, 0));
  CHECK(numbers(Quiet()(x, nn::training)) == numbers(x));
  CHECK(numbers(nn::Sequential{[](const AnyTensor& in) { return nn::Dropout(0.5)(in); }}(
            T::ones({1, 64}), nn::training)) != Numbers(64, 1));
  CHECK(numbers(nn::Dropout(0.5)(x)) == numbers(x));  // outside of any call: inference
  CHECK(nn::current_phase() == nn::inference);
}

BOTH_MODES("repeat makes layers with states of their own, a vector of copies one layer several times") {
  using T = Tensor<Mode>;
  const std::vector<nn::Linear> two = nn::repeat(2, [] { return nn::Linear({.in = 3, .out = 3}); });
  CHECK(nn::parameter_count(nn::Sequential(two)) == 24);
  CHECK(nn::parameter_count(nn::Sequential(std::vector<nn::Linear>(2, two[0]))) == 12);
  assign(two[0].weight, AnyTensor::ones({3, 3}));
  CHECK(numbers(two[1].weight) != Numbers(9, 1));
  CHECK(nn::Sequential(two)(T::ones({1, 3})).shape() == Shape{1, 3});
}

BOTH_MODES("clone gives the same values in states of its own; tied ones stay tied") {
  using T = Tensor<Mode>;
  const T x = T::ones({2, 3});
  const nn::Step shared = nn::Linear({.in = 3, .out = 3});
  const nn::Sequential original{shared, shared, nn::Residual(nn::Linear({.in = 3, .out = 3})),
                                nn::BatchNorm1d({.channels = 3}), nn::WeightNorm(nn::Linear({.in = 3, .out = 2}))};
  original.freeze("0");
  const nn::Sequential copy = nn::clone(original);
  CHECK(nn::parameter_count(copy) == nn::parameter_count(original));
  CHECK(copy.parameters().size() == original.parameters().size());  // those frozen are frozen
  CHECK(numbers(copy(x)) == numbers(original(x)));
  const Numbers before = numbers(original(x));
  for (const auto& state : copy.named_states()) assign(state.value, AnyTensor::full(state.value.shape(), 0.25));
  CHECK(numbers(original(x)) == before);
  CHECK(numbers(copy(x)) != before);
  copy.unfreeze();
  CHECK(copy.parameters().size() == original.parameters().size() + 2);
}

TEST_CASE("clone refuses what it cannot copy") {
  struct Pointing : nn::Layer {
    std::shared_ptr<nn::Linear> held = std::make_shared<nn::Linear>(nn::LinearOptions{.in = 2, .out = 2});
    AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return (*held)(x); }
    nn::Members members() const override { return {{"held", *held}}; }
  };
  CHECK_THROWS_WITH_AS(
      nn::clone(Pointing()),
      "clone: the module 'held' is held by a pointer, which the copy shares; hold it by value or as an "
      "nn::Step",
      ValueError);
}

BOTH_MODES("a gradient through a layer that differs in training is refused where no phase was given") {
  using T = Tensor<Mode>;
  const T x = T::ones({2, 4, 3}) * T::arange(4).reshape({1, 4, 1}).astype(DType::f32);
  const std::pair<const char*, nn::Step> layers[] = {
      {"Dropout", nn::Dropout(0.5)},
      {"ChannelDropout", nn::ChannelDropout(0.5)},
      {"AlphaDropout", nn::AlphaDropout(0.5)},
      {"GaussianNoise", nn::GaussianNoise(0.5)},
      {"GaussianDropout", nn::GaussianDropout(0.5)},
      {"RReLU", nn::RReLU()},
      {"BatchNorm1d", nn::BatchNorm1d({.channels = 3})},
      {"InstanceNorm", nn::InstanceNorm({.channels = 3, .track = true})},
      {"MultiheadAttention", nn::TransformerEncoderLayer({.features = 3, .heads = 1, .dropout = 0.5})},
      {"GRU", nn::GRU({.in = 3, .hidden = 3, .layers = 2, .dropout = 0.5})}};
  for (const auto& [name, layer] : layers) {
    CAPTURE(name);
    const nn::Sequential model{nn::Linear({.in = 3, .out = 3}), layer};
    const auto gradient = [&](auto... phase) {
      auto step = compile([&](T in) {
        return value_and_grad([&](T each) { return sum(model(each, phase...)); }, model.parameters())(in).first;
      });
      return step(x);
    };
    const std::string told =
        name + std::string(
                   ": a gradient is taken in a call without a phase; write model(x, "
                   "nn::training), or model(x, nn::inference) where it is not to train, in the outermost call");
    CHECK_THROWS_WITH_AS(gradient(), doctest::Contains(told.c_str()), ValueError);
    CHECK_NOTHROW(gradient(nn::training));
    CHECK_NOTHROW(gradient(nn::inference));
    CHECK(model(x).shape() == x.shape());  // no gradient: inference
  }
  // What does nothing in training either, and what the outer call's phase settles.
  const nn::Sequential plain{nn::Linear({.in = 3, .out = 3}), nn::Dropout(0), nn::LayerNorm({.shape = 3})};
  CHECK_NOTHROW(value_and_grad([&](T each) { return sum(plain(each)); }, plain.parameters())(x));
  const Dropping inner;
  const T flat = T::ones({4, 6});
  CHECK_NOTHROW(value_and_grad([&](T each) { return sum(inner(each, nn::training)); }, inner.parameters())(flat));
  CHECK_THROWS_AS(value_and_grad([&](T each) { return sum(inner(each)); }, inner.parameters())(flat), ValueError);
}
