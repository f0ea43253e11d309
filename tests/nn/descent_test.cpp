// SPDX-License-Identifier: MIT
// Rules of descent against values worked by hand, each line computed at once and as one compiled step.
#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <tyto/elementwise.hpp>
#include <tyto/graph.hpp>
#include <tyto/nn/clipping.hpp>
#include <tyto/nn/rules.hpp>
#include <vector>

namespace tyto::nn {
namespace {

/// The parameter, 1 at first, after each of these gradients.
template <class M>
std::vector<double> path(Descent descent, const std::vector<double>& gradients, DType dtype = DType::f64) {
  using T = Tensor<M>;
  const T w = T::variable(T::ones({1}, dtype), "w");
  auto step = compile([&](T gradient) {
    descent.update(std::vector{w}, std::vector{gradient});
    return gradient;
  });
  std::vector<double> values;
  for (const double gradient : gradients) {
    step(T::full({1}, gradient, dtype));
    values.push_back(w.astype(DType::f64).template item<double>());
  }
  CHECK(descent.count() == static_cast<std::int64_t>(gradients.size()));
  return values;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(tolerance));
  }
}

/// The same in both modes, in f64 and in f32; `make` makes the rule anew.
template <class Make>
void check_path(Make make, const std::vector<double>& gradients, const std::vector<double>& expected) {
  check_near(path<Eager>(make(), gradients), expected, 1e-10);
  check_near(path<Lazy>(make(), gradients), expected, 1e-10);
  check_near(path<Eager>(make(), gradients, DType::f32), expected, 1e-5);
  check_near(path<Lazy>(make(), gradients, DType::f32), expected, 1e-5);
}

}  // namespace

TEST_CASE("plain descent subtracts the rate times the gradient") {
  check_path([] { return sgd({.rate = 0.1}); }, {1, 2, -4}, {0.9, 0.7, 1.1});
}

TEST_CASE("momentum goes on where the gradient has stopped") {
  check_path([] { return sgd({.rate = 0.1, .momentum = 0.5}); }, {1, 1, 0}, {0.9, 0.75, 0.675});
  check_path([] { return sgd({.rate = 0.1, .momentum = 0.5, .nesterov = true}); }, {1, 1, 0}, {0.85, 0.675, 0.6375});
}

TEST_CASE("dampening spares the first gradient, and steps of Rprop grow, as exactly as the parameters are") {
  check_path([] { return sgd({.rate = 0.1, .momentum = 0.5, .dampening = 0.3}); }, {1, 1, 0}, {0.9, 0.78, 0.72});
  check_path([] { return rprop({.rate = 0.1, .shrink = 0.3, .grow = 1.7}); }, {1, 1, -1, -1}, {0.9, 0.73, 0.73, 0.781});
}

TEST_CASE("weight decay pulls towards zero without a gradient") {
  check_path([] { return sgd({.rate = 0.1, .weight_decay = 0.5}); }, {0, 0}, {0.95, 0.9025});
}

TEST_CASE("Adagrad divides by the root of all squared gradients") {
  // Sums of squares 4, 5, 9, 25.
  check_path([] { return adagrad({.rate = 0.5, .epsilon = 0}); }, {2, 1, 2, -4},
             {0.5, 0.27639320225002106, -0.05694013108331225, 0.34305986891668778});
  check_path([] { return adagrad({.rate = 0.5, .epsilon = 2}); }, {2}, {0.75});
}

TEST_CASE("RMSprop divides by the root of the running mean of squared gradients") {
  // Means of squares 1, 1, 1.75, 1.3125.
  check_path([] { return rmsprop({.rate = 0.1, .decay = 0.75, .epsilon = 0}); }, {2, 1, 2, 0},
             {0.8, 0.7, 0.5488142107963091, 0.5488142107963091});
  check_path([] { return rmsprop({.rate = 0.1, .decay = 0.75, .epsilon = 1}); }, {2}, {0.9});
}

TEST_CASE("Adam corrects its running means by the true count of updates") {
  // Means 1, 1.5, -1.25 over 0.5, 0.75, 0.875; means of squares 1, 1.75, 5.3125 over 0.25, 0.4375, 0.578125.
  check_path([] { return adam({.rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0}); }, {2, 2, -4},
             {0.9, 0.8, 0.8471263021607057});
  // With a constant gradient every corrected step is the rate itself, however long the memory.
  check_path([] { return adam({.rate = 0.001}); }, {3, 3, 3, 3}, {0.999, 0.998, 0.997, 0.996});
}

TEST_CASE("AdamW decays beside Adam's change") {
  check_path([] { return adamw({.rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0, .weight_decay = 0.5}); }, {2},
             {0.85});
}

TEST_CASE("a learning rate follows the count of updates, in a compiled step too") {
  const auto with = [](const LearningRate& rate) { return [rate] { return sgd({.rate = rate}); }; };
  const std::vector<double> ones{-1, -1, -1, -1};
  check_path(with(inverse_decay(1, 1)), ones, {2, 2.5, 2.8333333333, 3.0833333333});
  check_path(with(exponential_decay(1, 1)), ones, {2, 2.3678794412, 2.5032147244, 2.5530017928});
  check_path(with(cosine_decay(1, 0, 2)), ones, {2, 2.5, 2.5, 2.5});
  check_path(with(piecewise({{0, 1}, {2, 0.5}, {3, 0.25}})), ones, {2, 3, 3.5, 3.75});
  check_path(with(warm_up(2, 1.0)), ones, {1, 1.5, 2.5, 3.5});
  check_path(with(warm_up(2, inverse_decay(1, 1))), ones, {1, 1.25, 1.5833333333, 1.8333333333});
}

TEST_CASE("schedules are as exact as parameters of f64") {
  // Sums of the rates in full precision: 0.3, 0.3 / 1.1, 0.3 / 1.2; 0.3, 0.3 / e^0.1, 0.3 / e^0.2; 0.1, 0.3.
  const auto with = [](const LearningRate& rate) { return sgd({.rate = rate}); };
  const std::vector<double> ones{-1, -1, -1};
  check_near(path<Eager>(with(inverse_decay(0.3, 0.1)), ones), {1.3, 1.5727272727272728, 1.8227272727272728}, 1e-14);
  check_near(path<Lazy>(with(inverse_decay(0.3, 0.1)), ones), {1.3, 1.5727272727272728, 1.8227272727272728}, 1e-14);
  check_near(path<Lazy>(with(exponential_decay(0.3, 0.1)), ones), {1.3, 1.571451225410788, 1.8170704513341824}, 1e-14);
  check_near(path<Lazy>(with(piecewise({{0, 0.1}, {1, 0.3}})), ones), {1.1, 1.4, 1.7}, 1e-14);
}

TEST_CASE("LAMB takes the step of Adam where the parameter or the step has no length") {
  // Steps of a sign each, as the means are corrected: of length root 2 beside parameters of length 0, then 0.1 root 2.
  const auto steps = []<class M>(std::type_identity<M>, std::vector<double> first, std::vector<double> gradients) {
    using T = Tensor<M>;
    const T w = T::variable(T::from(first, {2}), "w");
    Descent descent = lamb({.rate = 0.1, .epsilon = 0});
    auto step = compile([&](T gradient) {
      descent.update(std::vector{w}, std::vector{gradient});
      return gradient;
    });
    std::vector<std::vector<double>> seen;
    for (int i = 0; i < 2; ++i) {
      step(T::from(gradients, {2}));
      seen.push_back((w + 0).template to_vector<double>());
    }
    return seen;
  };
  const auto check_steps = [&](std::vector<double> first, std::vector<double> gradients, std::vector<double> after_one,
                               std::vector<double> after_two) {
    for (const auto& seen :
         {steps(std::type_identity<Eager>(), first, gradients), steps(std::type_identity<Lazy>(), first, gradients)}) {
      check_near(seen[0], after_one, 1e-12);
      check_near(seen[1], after_two, 1e-12);
    }
  };
  check_steps({0, 0}, {2, -3}, {-0.1, 0.1}, {-0.11, 0.11});
  const double first = 0.5 / std::sqrt(2.0), second = 0.1 * std::hypot(3 - first, 4 + first) / std::sqrt(2.0);
  check_steps({3, 4}, {2, -3}, {3 - first, 4 + first}, {3 - first - second, 4 + first + second});
}

TEST_CASE("LAMB stays where there is no gradient") {
  using T = Tensor<Eager>;
  const T w = T::variable(T{1.0, 2.0}, "w");
  Descent descent = lamb({.rate = 0.1});
  descent.update(std::vector{w}, std::vector{T::zeros({2})});
  CHECK((w + 0).to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("ASGD's average begins after its first steps, and is the parameter until then") {
  using T = Tensor<Eager>;
  const T w = T::variable(T::ones({}, DType::f64), "w");
  Descent descent = asgd({.rate = 1, .decay = 0, .average_from = 2});
  std::vector<double> averages;
  for (int i = 0; i < 6; ++i) {
    descent.update(std::vector{w}, std::vector{T::full({}, -1, DType::f64)});
    averages.push_back(descent.state({{"w", Tensor<Any>(w.value())}})["w.average"].template item<double>());
  }
  // What torch.optim.ASGD(lr=1, lambd=0, t0=2) keeps as ax while the parameter goes 2, 3, 4, 5, 6, 7.
  check_near(averages, {2, 3, 4, 5, 5.5, 6}, 1e-12);
}

TEST_CASE("half-precision parameters remember in f32 and stay half-precision") {
  const auto w = Tensor<Eager>::variable(Tensor<Eager>::ones({2}, DType::f16), "w");
  Descent descent = adagrad({.rate = 0.5, .epsilon = 0});
  descent.update(std::vector{w}, std::vector{Tensor<Eager>::full({2}, 3, DType::f16)});
  CHECK((w + 0).dtype() == DType::f16);
  CHECK(static_cast<float>(w.to_vector<Half>()[1]) == 0.5f);
  const NamedList<Tensor<Any>> state = descent.state({{"w", Tensor<Any>(w.value())}});
  REQUIRE(state.size() == 2);
  CHECK(state[0].name == "count");
  CHECK(state[0].value.item<std::int64_t>() == 1);
  CHECK(state[1].name == "w.squares");
  CHECK(state[1].value.to_vector<float>() == std::vector<float>{9, 9});
}

TEST_CASE("gradients are kept within limits by value, by norm, and by the norm of all") {
  using T = Tensor<Eager>;
  const std::vector<T> gradients{T{{3.0, -4.0}}, T{{0.0, 12.0}}};
  const auto value = clip_by_value(gradients, 3.5);
  CHECK(value[0].to_vector<float>() == std::vector<float>{3, -3.5});
  CHECK(value[1].to_vector<float>() == std::vector<float>{0, 3.5});
  const auto norm = clip_by_norm(gradients, 10);
  CHECK(norm[0].to_vector<float>() == std::vector<float>{3, -4});
  CHECK(norm[1].to_vector<float>()[1] == doctest::Approx(10));
  const auto together = clip_by_global_norm(gradients, 6.5);
  CHECK(together[0].to_vector<float>()[1] == doctest::Approx(-2));
  CHECK(together[1].to_vector<float>()[1] == doctest::Approx(6));
  CHECK(clip_by_global_norm(gradients, 13)[0].to_vector<float>() == std::vector<float>{3, -4});
  CHECK(clip_by_norm(std::vector{T::zeros({2})}, 1)[0].to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("gradients in half precision whose squares leave its range are kept within the norm of all") {
  // sqrt(300^2 + 400^2 + 1200^2) = 1300.
  const auto check_halves = []<class M>(std::type_identity<M>, DType type) {
    using T = Tensor<M>;
    const std::vector<T> gradients{T::from(std::vector<float>{300, -400}, {2}).astype(type), T::full({1}, 1200, type)};
    const auto kept = clip_by_global_norm(gradients, 650);
    CHECK(kept[0].dtype() == type);
    CHECK(kept[0].astype(DType::f32).template to_vector<float>() == std::vector<float>{150, -200});
    CHECK(kept[1].astype(DType::f32).template to_vector<float>() == std::vector<float>{600});
  };
  for (const DType type : {DType::f16, DType::f32}) {
    check_halves(std::type_identity<Eager>(), type);
    check_halves(std::type_identity<Lazy>(), type);
  }
}

TEST_CASE("updates that do not fit are refused by name") {
  using T = Tensor<Eager>;
  const T w = T::variable(T::ones({2}), "w");
  Descent descent = adagrad();
  CHECK_THROWS_WITH_AS(descent.update(std::vector{w}, std::vector<T>{}), "adagrad: 1 parameters and 0 gradients",
                       ValueError);
  CHECK_THROWS_WITH_AS(descent.update(std::vector{w}, std::vector{T::ones({3})}),
                       "adagrad: parameter 0 of shape (2,) is given a gradient of shape (3,)", ShapeError);
  CHECK(descent.state({}).size() == 1);
  CHECK(descent.count() == 0);
  const T whole = T::variable(T::ones({2}, DType::i32), "whole");
  CHECK_THROWS_WITH_AS(sgd().update(std::vector{whole}, std::vector{whole}),
                       "sgd: a parameter of i32 cannot be trained", TypeError);
  CHECK_THROWS_WITH_AS(adam({.beta1 = 1}), "adam: beta1 = 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(sgd({.nesterov = true}), "sgd: Nesterov's look ahead needs a momentum above 0", ValueError);
  CHECK_THROWS_WITH_AS(sgd({.weight_decay = -1}), "sgd: weight_decay = -1 must be finite and at least 0", ValueError);
  CHECK_THROWS_WITH_AS(adagrad({.epsilon = -1e-3}), "adagrad: epsilon = -0.001 must be finite and at least 0",
                       ValueError);
  CHECK_THROWS_WITH_AS(rmsprop({.epsilon = -1}), "rmsprop: epsilon = -1 must be finite and at least 0", ValueError);
  CHECK_THROWS_WITH_AS(adam({.epsilon = INFINITY}), "adam: epsilon = inf must be finite and at least 0", ValueError);
  CHECK_THROWS_WITH_AS(adamw({.weight_decay = NAN}), doctest::Contains("adamw: weight_decay = "), ValueError);
  CHECK_THROWS_WITH_AS(adam({.rate = -0.1}), "LearningRate: a learning rate of -0.1; it must be finite and at least 0",
                       ValueError);
  CHECK_THROWS_WITH_AS(warm_up(3, NAN), doctest::Contains("LearningRate: a learning rate of "), ValueError);
  CHECK_THROWS_WITH_AS(inverse_decay(-0.1, 1), doctest::Contains("inverse_decay: a learning rate of -0.1;"),
                       ValueError);
  CHECK_THROWS_WITH_AS(exponential_decay(INFINITY, 1), doctest::Contains("exponential_decay: a learning rate of inf"),
                       ValueError);
  CHECK_THROWS_WITH_AS(cosine_decay(1, -1, 5), doctest::Contains("cosine_decay: a learning rate of -1;"), ValueError);
  CHECK_THROWS_WITH_AS(piecewise({{0, 0.1}, {5, -1}}), doctest::Contains("piecewise: a learning rate of -1;"),
                       ValueError);
  CHECK_THROWS_WITH_AS(piecewise({{1, 0.1}}), "piecewise: the first entry must be for count 0", ValueError);
  CHECK_THROWS_WITH_AS(piecewise({{0, 0.1}, {0, 0.2}}), "piecewise: count 0 follows 0; counts must ascend", ValueError);
  CHECK_THROWS_WITH_AS(cosine_decay(1, 0, 0), "cosine_decay: 0 steps; at least 1 is needed", ValueError);
  CHECK_THROWS_WITH_AS(clip_by_norm(std::vector{w}, 0), "clip_by_norm: the limit 0 must be positive", ValueError);
}

}  // namespace tyto::nn
