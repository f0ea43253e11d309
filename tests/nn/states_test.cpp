// SPDX-License-Identifier: MIT
// States beside parameters: their names, their updates in both modes, freezing, and saving.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/temporary_folder.hpp"

namespace tyto::nn {
namespace {

std::vector<std::string> names_in(const NamedList<Tensor<Any>>& list) {
  std::vector<std::string> names;
  for (const Named<Tensor<Any>>& each : list) names.push_back(each.name);
  return names;
}

/// A residual network in small: a picture in, three classes out.
struct SmallResNet : Layer {
  Conv2d stem{{.in = 3, .out = 4, .padding = 1, .bias = false}};
  BatchNorm2d norm{{.channels = 4}};
  std::vector<Residual> blocks{block(), block()};
  Linear head{{.in = 4, .out = 3}};

  static Residual block() {
    return Residual(Sequential{Conv2d({.in = 4, .out = 4, .padding = 1, .bias = false}), BatchNorm2d({.channels = 4}),
                               tyto::relu, Conv2d({.in = 4, .out = 4, .padding = 1, .bias = false}),
                               BatchNorm2d({.channels = 4})});
  }
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override {
    Tensor<Any> y = relu(norm(stem(x, phase), phase));
    for (const Residual& each : blocks) y = relu(each(y, phase));
    return head(GlobalAveragePool()(y, phase), phase);
  }
  Members members() const override { return {{"stem", stem}, {"norm", norm}, {"blocks", blocks}, {"head", head}}; }
};

template <class M>
struct ResNetRun {
  using T = Tensor<M>;
  SmallResNet model = made();
  Descent descent = sgd({.rate = 0.1, .momentum = 0.9});
  Compiled<std::function<T(T, T)>> step{[this](T x, T t) { return advance(x, t); }, {}};
  std::int64_t steps = 0;

  static SmallResNet made() {
    seed(5);
    return {};
  }
  T advance(const T& x, const T& t) {
    const auto objective = [&](const T& in) { return tyto::cross_entropy(model(in, training), t); };
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(x);
    descent.update(model.parameters(), gradients);
    return loss;
  }
  std::vector<float> losses(int count) {
    std::vector<float> list;
    for (int i = 0; i < count; ++i, ++steps) {
      const auto stream = static_cast<std::uint64_t>(2 * (steps % 4));
      const T x = T::normal({6, 8, 8, 3}, {.key = Key{3, stream}});
      const T t = T::integers({6}, {.high = 3, .key = Key{3, stream + 1}});
      list.push_back(step(x, t).template item<float>());
    }
    return list;
  }
  Checkpoint checkpoint() {
    Checkpoint all;
    all.add("model", model.named_states()).add("descent", descent.state(model.named_parameters())).add("steps", steps);
    return all;
  }
};

}  // namespace

TEST_CASE("parameters and buffers have names by place, lists of members too") {
  const BatchNorm2d norm({.channels = 4});
  CHECK(names_in(norm.named_parameters()) == std::vector<std::string>{"weight", "bias"});
  CHECK(names_in(norm.named_buffers()) ==
        std::vector<std::string>{"running_mean", "running_var", "num_batches_tracked"});
  CHECK(names_in(norm.named_states()).size() == 5);
  CHECK(names_in(BatchNorm1d({.channels = 4, .affine = false, .track = false}).named_states()).empty());
  const SmallResNet model;
  const std::vector<std::string> buffers = names_in(model.named_buffers());
  REQUIRE(buffers.size() == 15);
  CHECK(buffers[3] == "blocks.0.body.1.running_mean");
  CHECK(buffers[14] == "blocks.1.body.4.num_batches_tracked");
  CHECK(parameter_count(model) == 3 * 3 * 3 * 4 + 4 * 9 * 4 * 4 + 5 * 8 + 4 * 3 + 3);
  CHECK(names_in(Sequential{{"stem", Linear({.in = 2, .out = 2})}, tyto::relu}.named_parameters())[0] == "stem.weight");
}

TEST_CASE("a residual network with batch norm trains equally in both modes, and its buffers end equal") {
  ResNetRun<Eager> eager;
  ResNetRun<Lazy> lazy;
  const std::vector<float> expected = eager.losses(12), found = lazy.losses(12);
  CHECK(expected.back() < 0.7f * expected.front());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-3));
  const NamedList<Tensor<Any>> a = eager.model.named_buffers(), b = lazy.model.named_buffers();
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].name);
    const Tensor<Eager> x = Tensor<Eager>(a[i].value.value()).astype(DType::f64);
    const Tensor<Eager> y = Tensor<Eager>(b[i].value.value()).astype(DType::f64);
    CHECK(allclose(y, x, 1e-3, 1e-4));
  }
  CHECK(a[2].value.item<std::int64_t>() == 12);
  // Inference is the same function in both modes too.
  const Tensor<Eager> picture = Tensor<Eager>::normal({2, 8, 8, 3}, {.key = Key{9, 0}});
  const auto use = compile([&](Tensor<Lazy> x) { return eager.model(x); });
  const Tensor<Lazy> again = Tensor<Lazy>::normal({2, 8, 8, 3}, {.key = Key{9, 0}});
  auto compiled = use;
  CHECK(allclose(Tensor<Eager>::from(compiled(again).to_vector<float>(), {2, 3}), eager.model(picture), 1e-4, 1e-5));
}

TEST_CASE("a compiled step writes running statistics where they lie, without an allocation") {
  using T = Tensor<Lazy>;
  const BatchNorm1d norm({.channels = 512});
  auto step = compile([&](T x) { return sum(norm(x, training)); });
  const T x = T::ones({4, 512});
  for (int i = 0; i < 3; ++i) (void)step(x).item<float>();
  const GraphReport report = step.report();
  CHECK(report.unplanned_allocations == 0);
  // The states are weight, bias, mean, variance and a counter: nothing is held twice.
  CHECK(report.state_bytes <= 4 * 512 * sizeof(float) + 64 * 5);
  CHECK(report.arena_bytes <= 10 * 512 * sizeof(float));
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 3);
  CHECK(norm.running_mean.to_vector<float>()[0] == doctest::Approx(1 - 0.9 * 0.9 * 0.9));
}

TEST_CASE("a training step keeps of each batch norm what it was given and what it gave, nothing between") {
  using T = Tensor<Lazy>;
  constexpr std::int64_t depth = 8, samples = 512, channels = 64;
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < depth; ++i) {
    steps.emplace_back(Linear({.in = channels, .out = channels, .bias = false}));
    steps.emplace_back(BatchNorm1d({.channels = channels}));
    steps.push_back(tyto::relu);
  }
  const Sequential model(std::move(steps));
  Descent descent = sgd({.rate = 0.1});
  auto step = compile([&](T x) {
    auto [loss, gradients] =
        value_and_grad([&](const T& in) { return sum(square(model(in, training))); }, model.parameters())(x);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  (void)step(T::normal({samples, channels})).item<float>();
  constexpr auto activation = samples * channels * static_cast<std::int64_t>(sizeof(float));
  // Two a layer, and a few for the gradients on their way.
  CHECK(step.plan().height < (2 * depth + 4) * activation);
}

TEST_CASE_TEMPLATE("inference reads the running statistics and leaves them alone", M, Eager, Lazy) {
  using T = Tensor<M>;
  const BatchNorm1d norm({.channels = 2, .epsilon = 0});
  assign(norm.running_mean, Tensor<Any>{1.0, 2.0});
  assign(norm.running_var, Tensor<Any>{4.0, 0.25});
  CHECK(norm(T{{3.0, 2.5}}).template to_vector<float>() == std::vector<float>{1, 1});
  CHECK(norm.running_mean.to_vector<float>() == std::vector<float>{1, 2});
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 0);
}

TEST_CASE_TEMPLATE("a call in training is counted whether its result is read or not", M, Eager, Lazy) {
  using T = Tensor<M>;
  const BatchNorm1d norm({.channels = 2});
  for (int i = 0; i < 3; ++i) (void)norm(T{{1.0, 2.0}, {3.0, 2.0}}, training);
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 3);
  CHECK(norm.running_mean.to_vector<float>()[0] == doctest::Approx(2 * (1 - 0.9 * 0.9 * 0.9)));
}

TEST_CASE_TEMPLATE("half-precision pictures are normalised by statistics in f32", M, Eager, Lazy) {
  using T = Tensor<M>;
  const BatchNorm2d norm({.channels = 2, .dtype = DType::f16});
  CHECK(norm.running_mean.dtype() == DType::f32);
  // 300^2 is beyond f16.
  const T x = concat(std::vector<T>{T::full({2, 8, 8, 2}, 300, DType::f16), T::full({2, 8, 8, 2}, -300, DType::f16)});
  const T y = norm(x, training);
  CHECK(y.dtype() == DType::f16);
  CHECK(static_cast<float>(y.template to_vector<Half>()[0]) == 1.0f);
  CHECK(norm.running_var.to_vector<float>()[0] == doctest::Approx(0.9 + 0.1 * 90000 * 256 / 255));
}

TEST_CASE_TEMPLATE("a checkpoint holds running statistics, and the resumed run goes on bit for bit", M, Eager, Lazy) {
  const testing::TemporaryFolder folder;
  ResNetRun<M> whole;
  (void)whole.losses(3);
  whole.checkpoint().save(folder / "run.npz");
  const std::vector<float> rest = whole.losses(4);
  ResNetRun<M> resumed;
  (void)resumed.losses(1);
  resumed.checkpoint().load(folder / "run.npz");
  CHECK(resumed.losses(4) == rest);
  CHECK(resumed.model.norm.running_var.template to_vector<float>() ==
        whole.model.norm.running_var.template to_vector<float>());
}

TEST_CASE("what is frozen is left out of the parameters and kept among the states") {
  const SmallResNet model;
  const std::size_t all_of = model.parameters().size();
  model.freeze("blocks.0");
  CHECK(model.parameters().size() == all_of - 6);
  CHECK(model.named_states().size() == all_of + 15);
  model.freeze("head.bias");
  CHECK(names_in(model.named_parameters()).back() == "head.weight");
  model.unfreeze("blocks.0.body.1");
  CHECK(model.parameters().size() == all_of - 5);
  model.freeze();
  CHECK(model.parameters().empty());
  model.unfreeze();
  CHECK(model.parameters().size() == all_of);
  const Sequential shared{model.head};
  shared.freeze("0.weight");
  CHECK(model.parameters().size() == all_of - 1);
  CHECK_THROWS_WITH_AS(shared.freeze("0.w"), "freeze: there is no parameter '0.w'; there are: 0.weight, 0.bias",
                       ValueError);
  CHECK_THROWS_WITH_AS(model.norm.unfreeze("running_mean"),
                       "unfreeze: there is no parameter 'running_mean'; there are: weight, bias", ValueError);
}

namespace {

/// A layer that stands at two places.
Sequential tied() {
  Linear layer({.in = 2, .out = 2, .dtype = DType::f64});
  assign(layer.weight, Tensor<Any>::from(std::vector<double>{0.5, -0.3, 0.2, 0.8}, {2, 2}));
  assign(layer.bias, Tensor<Any>::from(std::vector<double>{0.1, -0.2}, {2}));
  return Sequential{layer, tyto::tanh, layer};
}

}  // namespace

// The numbers are those of PyTorch 2.13 for Sequential(l, Tanh(), l).
TEST_CASE_TEMPLATE("a layer that stands at two places is trained once, as in PyTorch", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = T{{1.0, 2.0}, {-1.0, 0.5}, {0.25, -2.0}}.astype(DType::f64);
  const T t = T{{0.5, 0.0}, {1.0, -1.0}, {0.0, 0.5}}.astype(DType::f64);
  const auto check = [&](Descent descent, const std::vector<double>& losses, const std::vector<double>& weight) {
    const Sequential model = tied();
    CHECK(names_in(model.named_parameters()) == std::vector<std::string>{"0.weight", "0.bias"});
    auto step = compile([&](T images, T targets) {
      auto [loss, gradients] = value_and_grad([&](const T& in) { return mean(square(model(in, training) - targets)); },
                                              model.parameters())(images);
      descent.update(model.parameters(), gradients);
      return loss;
    });
    for (const double loss : losses) CHECK(step(x, t).template item<double>() == doctest::Approx(loss).epsilon(1e-11));
    const std::vector<double> found = model.named_states()[0].value.template to_vector<double>();
    for (std::size_t i = 0; i < weight.size(); ++i) CHECK(found[i] == doctest::Approx(weight[i]).epsilon(1e-11));
  };
  check(sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01}),
        {0.7628058873576459, 0.6261878891397975, 0.45420284590678994},
        {0.28507601381699027, -0.22119696904476388, 0.38079418036391555, 0.3487162097289495});
  check(adam({.rate = 0.05}), {0.7628058873576459, 0.6484007742778911, 0.5668148557369209},
        {0.3518074797473318, -0.17078796479621328, 0.3424020442588823, 0.6511201942011344});
}

TEST_CASE("what modules share is listed once, and under each name among the states, as in PyTorch") {
  const Sequential model = tied();
  CHECK(names_in(model.named_states()) == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  CHECK(parameter_count(model) == 6);
  CHECK(model.parameters().size() == 2);
  const Sequential norms = [] {
    const BatchNorm2d norm({.channels = 4});
    return Sequential{norm, tyto::relu, norm};
  }();
  CHECK(names_in(norms.named_buffers()) ==
        std::vector<std::string>{"0.running_mean", "0.running_var", "0.num_batches_tracked"});
}

TEST_CASE("a parameter that modules of different kinds share is frozen in all of them") {
  struct Tied : Module {
    Embedding words{{.count = 3, .features = 3}};
    Linear scores{{.in = 3, .out = 3}};
    Tied() { scores.weight = words.weight; }
    Members members() const override { return {{"words", words}, {"scores", scores}}; }
  } const model;
  CHECK(names_in(model.named_parameters()) == std::vector<std::string>{"words.weight", "scores.bias"});
  model.freeze("words");
  CHECK(names_in(model.named_parameters()) == std::vector<std::string>{"scores.bias"});
  model.unfreeze("scores");
  CHECK(names_in(model.named_parameters()) == std::vector<std::string>{"words.weight", "scores.bias"});
  model.scores.freeze("weight");
  CHECK(names_in(model.named_parameters()) == std::vector<std::string>{"scores.bias"});
}

TEST_CASE_TEMPLATE("averages of a shared state change places with it, and back", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model = tied();
  const std::vector<double> own = model.named_states()[0].value.template to_vector<double>();
  AveragedWeights average(model.named_states());
  CHECK(average.state().size() == 3);
  average.update();
  assign(model.parameters()[0], Tensor<Any>((T::ones({2, 2}) * 9.0).astype(DType::f64).value()));
  average.exchange();
  CHECK(model.named_states()[0].value.template to_vector<double>() == own);
  average.exchange();
  CHECK(model.named_states()[0].value.template to_vector<double>() == std::vector<double>(4, 9.0));
}

TEST_CASE("an update refuses a parameter that is given twice") {
  using T = Tensor<Eager>;
  const T w = T::variable(T::ones({2}), "w");
  Descent descent = sgd({.rate = 0.1});
  CHECK_THROWS_WITH_AS(descent.update(std::vector{w, w}, std::vector{T::ones({2}), T::ones({2})}),
                       "sgd: parameter 1 of shape (2,) is given twice; its gradient is that of all places that read it",
                       ValueError);
  CHECK(w.to_vector<float>() == std::vector<float>{1, 1});
  // Of a rule of all parameters together too, which goes on afterwards.
  Descent joint = lbfgs({.rate = 0.5});
  CHECK_THROWS_AS(joint.update(std::vector{w, w}, std::vector{T::ones({2}), T::ones({2})}), ValueError);
  joint.update(std::vector{w}, std::vector{T::ones({2})});
  CHECK(w(0).item<float>() < 1);
}

TEST_CASE_TEMPLATE("a frozen layer keeps its weights while the rest is trained", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Sequential model{Linear({.in = 3, .out = 4}), tyto::tanh, Linear({.in = 4, .out = 1})};
  model.freeze("0");
  const std::vector<float> before = model.named_states()[0].value.template to_vector<float>();
  const std::vector<float> head = model.named_states()[2].value.template to_vector<float>();
  Descent descent = sgd({.rate = 0.5});
  auto step = compile([&](T x) {
    auto [loss, gradients] =
        value_and_grad([&](const T& in) { return mean(square(model(in, training) - 1.0)); }, model.parameters())(x);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  (void)step(T::ones({2, 3})).template item<float>();
  CHECK(model.named_states()[0].value.template to_vector<float>() == before);
  CHECK(model.named_states()[2].value.template to_vector<float>() != head);
}

TEST_CASE_TEMPLATE("a part that is unfrozen joins the training, which a checkpoint resumes bit for bit", M, Eager,
                   Lazy) {
  const testing::TemporaryFolder folder;
  ResNetRun<M> run, resumed;
  run.descent = adam({.rate = 0.01});
  resumed.descent = adam({.rate = 0.01});
  run.model.freeze("stem");
  const std::vector<float> before = run.model.stem.weight.template to_vector<float>();
  run.losses(3);
  CHECK(run.model.stem.weight.template to_vector<float>() == before);
  run.model.unfreeze();
  run.losses(2);
  CHECK(run.model.stem.weight.template to_vector<float>() != before);
  const NamedList<Tensor<Any>> states = run.descent.state(run.model.named_parameters());
  CHECK(states["stem.weight.count"].template item<float>() == 2);
  CHECK(states["head.weight.count"].template item<float>() == 5);
  run.checkpoint().save(folder / "run.npz");
  resumed.checkpoint().load(folder / "run.npz");
  CHECK(resumed.losses(3) == run.losses(3));
}

TEST_CASE("states go where the work goes: a model made on the processor is used and trained on another device") {
  if (devices().size() < 2) {
    MESSAGE("skipped: there is no OpenCL device");
    return;
  }
  using T = Tensor<Lazy>;
  const Sequential model{Linear({.in = 3, .out = 4}), BatchNorm1d({.channels = 4})};
  const Tensor<Eager> expected = model(Tensor<Eager>{{1.0, 2.0, 3.0}});
  const DeviceScope device("opencl");
  auto step = compile([&](T x) { return model(x, training); });
  (void)step(T{{1.0, 2.0, 3.0}, {3.0, 1.0, 2.0}}).to_vector<float>();
  CHECK(model.named_buffers()[2].value.item<std::int64_t>() == 1);
  auto use = compile([&](T x) { return model(x); });
  const std::vector<float> found = use(T{{1.0, 2.0, 3.0}}).to_vector<float>();
  CHECK(found.size() == 4);
  CHECK(found != expected.to_vector<float>());
}

TEST_CASE_TEMPLATE("statistics and averages of f64 are right to its last places", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = T{{1.0}, {2.0}, {6.0}}.astype(DType::f64);  // mean 3, unbiased variance 7
  const BatchNorm1d batch({.channels = 1, .momentum = 0.1, .dtype = DType::f64});
  (void)batch(x, training).template to_vector<double>();
  CHECK(std::abs(batch.running_mean.item<double>() - 0.3) < 1e-15);
  CHECK(std::abs(batch.running_var.item<double>() - 1.6) < 1e-15);
  const InstanceNorm instance({.channels = 1, .momentum = 0.1, .track = true, .dtype = DType::f64});
  (void)instance(x.reshape({1, 3, 1}), training).template to_vector<double>();
  CHECK(std::abs(instance.running_mean.item<double>() - 0.3) < 1e-15);
  CHECK(std::abs(instance.running_var.item<double>() - 1.6) < 1e-15);
  const T w = T::variable(T::full({1}, 1.0, DType::f64), "w");
  AveragedWeights average({{"w", Tensor<Any>(w.value())}}, {.decay = 0.9});
  average.update();
  assign(w, T::full({1}, 2.0, DType::f64));
  average.update();
  CHECK(std::abs(average.state()["w"].template item<double>() - 1.1) < 1e-15);
}

TEST_CASE("normalisation refuses what it cannot normalise, by name, type and shape") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(BatchNorm2d({.channels = 3})(T::zeros({2, 4, 4, 2})),
                       "BatchNorm2d: the last axis of x (2,4,4,2) must be of 3 channels", ShapeError);
  CHECK_THROWS_WITH_AS(BatchNorm2d({.channels = 3})(T::zeros({2, 3})), "BatchNorm2d: x (2,3) must have 4 axes",
                       ShapeError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({.channels = 3})(T::zeros({2, 3, 3, 3})),
                       "BatchNorm1d: x (2,3,3,3) must have 3 axes, or 2", ShapeError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({.channels = 3})(T::zeros({1, 3}), training),
                       "BatchNorm1d: x (1,3) has one number a channel; training needs more", ShapeError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({.channels = 3})(T::zeros({2, 3}, DType::i32)),
                       "BatchNorm1d: x is i32; a floating type is expected", TypeError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({}), "BatchNorm: channels = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({.channels = 2, .epsilon = -1}), "BatchNorm: epsilon = -1 must be at least 0",
                       ValueError);
  CHECK_THROWS_WITH_AS(BatchNorm1d({.channels = 2, .momentum = 2}), "BatchNorm: the momentum 2 must be in [0, 1]",
                       ValueError);
  CHECK_THROWS_WITH_AS(InstanceNorm({.channels = 3})(T::zeros({2, 3})),
                       "InstanceNorm: x (2,3) has one number a channel of a sample", ShapeError);
  CHECK_THROWS_WITH_AS(GroupNorm({.channels = 4, .groups = 3}), "GroupNorm: groups = 3 must divide channels = 4",
                       ValueError);
  CHECK_THROWS_WITH_AS(LayerNorm({.shape = {4}})(T::zeros({2, 3})), "LayerNorm: the last axes of x (2,3) must be (4,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(LayerNorm({}), "LayerNorm: the shape () must have an axis, and none that is empty", ShapeError);
  CHECK_THROWS_WITH_AS(RMSNorm({.shape = {2, 3}})(T::zeros({3})), "RMSNorm: the last axes of x (3,) must be (2,3)",
                       ShapeError);
}

}  // namespace tyto::nn
