// SPDX-License-Identifier: MIT
// Rules, schedules, plateaus and averages against PyTorch, in both modes.
#include <cmath>
#include <numbers>
#include <tyto/nn.hpp>

#include "tests/nn/goldens_of.hpp"

namespace tyto::nn {
namespace {

using goldens::array;
using goldens::check_near;
using goldens::descent_file;

/// The parameter after each update of one compiled step.
template <class M>
void check_rule(const std::string& name, Descent descent, const Shape& shape = {3, 4}) {
  using T = Tensor<M>;
  CAPTURE(name);
  const T w = T::variable(array<M>(descent_file, "given/weights").reshape(shape), "w");
  Shape all = shape;
  all.insert(0, -1);
  const T gradients = array<M>(descent_file, "given/gradients").reshape(all);
  auto step = compile([&](T gradient) {
    descent.update(std::vector{w}, std::vector{gradient});
    return gradient;
  });
  std::vector<T> values;
  for (std::int64_t i = 0; i < gradients.shape()[0]; ++i) {
    (void)step(copy(std::as_const(gradients)(i)));
    values.push_back(T::from(w.template to_vector<double>(), w.shape()));
  }
  check_near(stack(values), array<Eager>(descent_file, "rule/" + name), "the parameter after each update");
}

/// Two parameters, the second of which joins with a rate of its own in the third update and is left out of two.
template <class M, class Make>
void check_joining(const std::string& name, Make make) {
  using T = Tensor<M>;
  CAPTURE(name);
  const T weights = array<M>(descent_file, "given/weights"), gradients = array<M>(descent_file, "given/gradients");
  const T a = T::variable(weights, "a"), b = T::variable(weights, "b");
  Descent descent = make(0.1);
  const auto step_of = [&](const std::vector<T>& parameters) {
    return compile([&descent, parameters](T gradient) {
      descent.update(parameters, std::vector<T>(parameters.size(), gradient));
      return gradient;
    });
  };
  auto alone = step_of({a}), both = step_of({b, a});
  std::vector<T> values;
  for (std::int64_t i = 0; i < gradients.shape()[0]; ++i) {
    if (i == 2) descent.use(make(0.05), std::vector{b});
    const bool joins = i == 2 || i == 3 || i == 6 || i == 7;
    (void)(joins ? both : alone)(copy(std::as_const(gradients)(i)));
    values.push_back(stack(std::vector{T::from(a.template to_vector<double>(), a.shape()),
                                       T::from(b.template to_vector<double>(), b.shape())}));
  }
  check_near(stack(values), array<Eager>(descent_file, "joining/" + name), "both parameters after each update");
  CHECK(descent.count() == 8);
  const NamedList<Tensor<Any>> states = descent.state({{"a", a.value()}, {"b", b.value()}});
  CHECK(states["a.count"].template item<double>() == 8);
  CHECK(states["b.count"].template item<double>() == 4);
}

void check_rate(const std::string& name, const LearningRate& rate) {
  CAPTURE(name);
  const std::vector<double> expected = array<Eager>(descent_file, "rate/" + name).to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const Tensor<Any> count = Tensor<Any>::full({}, static_cast<double>(i), DType::f64);
    CHECK(cast(rate.at(count), DType::f64).item<double>() == doctest::Approx(expected[i]).epsilon(1e-9));
  }
}

void check_plateau(const std::string& name, Plateau plateau) {
  CAPTURE(name);
  const std::vector<double> figures = array<Eager>(descent_file, "plateau/figures").to_vector<double>();
  const std::vector<double> expected = array<Eager>(descent_file, "plateau/" + name).to_vector<double>();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    CAPTURE(i);
    const double before = plateau.current();
    CHECK(plateau.observe(figures[i]) == (expected[i] < before));
    CHECK(plateau.current() == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("rules of descent take PyTorch's steps", M, Eager, Lazy) {
  check_rule<M>("sgd", sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01}));
  check_rule<M>("sgd_nesterov", sgd({.rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}));
  check_rule<M>("sgd_dampening", sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .dampening = 0.25}));
  check_rule<M>("rprop", rprop({.rate = 0.1}));
  check_rule<M>("adagrad", adagrad({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("rmsprop", rmsprop({.rate = 0.01, .decay = 0.9}));
  check_rule<M>("rmsprop_all",
                rmsprop({.rate = 0.01, .decay = 0.9, .momentum = 0.5, .centred = true, .weight_decay = 0.01}));
  check_rule<M>("adam", adam({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("adam_amsgrad", adam({.rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .amsgrad = true}));
  check_rule<M>("adamw", adamw({.rate = 0.1, .weight_decay = 0.1}));
  check_rule<M>("adamax", adamax({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("nadam", nadam({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("radam", radam({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("adadelta", adadelta({.weight_decay = 0.01}));
  check_rule<M>("asgd", asgd({.rate = 0.1, .decay = 0.05, .average_from = 3, .weight_decay = 0.01}));
  check_rule<M>("adafactor", adafactor({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("adafactor_clipped",
                adafactor({.rate = 0.3, .decay_power = -0.5, .epsilon1 = 0.1, .epsilon2 = 0.5, .clip = 1.5}));
  check_rule<M>("adafactor_vector", adafactor({.rate = 0.1, .weight_decay = 0.01}), {12});
  check_rule<M>("adafactor_axes", adafactor({.rate = 0.1, .weight_decay = 0.01}), {3, 2, 2});
  check_rule<M>("muon", muon({.rate = 0.1}));
  check_rule<M>("muon_plain",
                muon({.rate = 0.1, .momentum = 0.9, .nesterov = false, .weight_decay = 0, .scale = MuonScale::adam}));
  check_rule<M>("adagrad_begun", adagrad({.rate = 0.1, .first_squares = 0.5}));
  check_rule<M>("nadam_decoupled", nadam({.rate = 0.1, .weight_decay = 0.1, .decoupled = true}));
  check_rule<M>("radam_decoupled", radam({.rate = 0.1, .weight_decay = 0.1, .decoupled = true}));
  check_rule<M>("lion", lion({.rate = 0.1, .weight_decay = 0.01}));
  check_rule<M>("lamb", lamb({.rate = 0.1, .weight_decay = 0.01}));
}

TEST_CASE_TEMPLATE("a parameter that joins later is updated as PyTorch updates it, by a count of its own", M, Eager,
                   Lazy) {
  check_joining<M>("sgd_dampening", [](double rate) {
    return sgd({.rate = rate, .momentum = 0.9, .weight_decay = 0.01, .dampening = 0.25});
  });
  check_joining<M>("rprop", [](double rate) { return rprop({.rate = rate}); });
  check_joining<M>("adam", [](double rate) { return adam({.rate = rate, .weight_decay = 0.01}); });
  check_joining<M>("adamw", [](double rate) { return adamw({.rate = rate, .weight_decay = 0.1}); });
  check_joining<M>("adamax", [](double rate) { return adamax({.rate = rate, .weight_decay = 0.01}); });
  check_joining<M>("nadam", [](double rate) { return nadam({.rate = rate, .weight_decay = 0.01}); });
  check_joining<M>("radam", [](double rate) { return radam({.rate = rate, .weight_decay = 0.01}); });
  check_joining<M>(
      "asgd", [](double rate) { return asgd({.rate = rate, .decay = 0.05, .average_from = 3, .weight_decay = 0.01}); });
  check_joining<M>("adafactor", [](double rate) { return adafactor({.rate = rate, .weight_decay = 0.01}); });
}

TEST_CASE_TEMPLATE("Muon goes where PyTorch's goes, whose products are rounded to 16 bits, for any rank", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T w = T::variable(array<M>(descent_file, "given/weights"), "w");
  const T kernel = T::variable(array<M>(descent_file, "given/weights").reshape({3, 1, 1, 4}), "kernel");
  const T gradients = array<M>(descent_file, "given/gradients");
  const Tensor<Eager> expected = array<Eager>(descent_file, "rule/muon_rounded");
  Descent descent = muon({.rate = 0.1});
  auto step = compile([&](T gradient) {
    descent.update(std::vector{w, kernel}, std::vector{gradient, gradient.reshape({3, 1, 1, 4})});
    return gradient;
  });
  for (std::int64_t i = 0; i < gradients.shape()[0]; ++i) {
    (void)step(copy(std::as_const(gradients)(i)));
    const std::vector<double> found = w.template to_vector<double>();
    const std::vector<double> other = copy(expected(i).transpose()).template to_vector<double>();
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(std::abs(found[k] - other[k]) <= 0.01);
    CHECK(kernel.template to_vector<double>() == found);
  }
}

TEST_CASE("rules of matrices keep states of shapes of their own, and refuse what is none") {
  using T = Tensor<Eager>;
  const T matrix = T::variable(T::ones({2, 3, 4}), "matrix"), vector = T::variable(T::ones({5}), "vector");
  Descent descent = adafactor();
  const auto states = descent.state({{"matrix", matrix.value()}, {"vector", vector.value()}});
  CHECK(states["matrix.row_square_mean"].shape() == Shape{2, 3, 1});
  CHECK(states["matrix.column_square_mean"].shape() == Shape{2, 1, 4});
  CHECK(states["vector.square_mean"].shape() == Shape{5});
  CHECK(states["vector.count"].shape() == Shape{});
  Descent other = muon();
  CHECK_THROWS_WITH_AS(other.update(std::vector{vector}, std::vector{vector + 0}),
                       "muon: a parameter of shape (5,) is no matrix; give it another rule by Descent::use",
                       ShapeError);
  CHECK_THROWS_WITH_AS(muon({.momentum = 1}), "muon: momentum = 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(muon({.weight_decay = -1}), "muon: weight_decay = -1 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(muon({.iterations = 0}), "muon: iterations = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(adafactor({.decay_power = 1}), "adafactor: decay_power = 1 must be at most 0", ValueError);
  CHECK_THROWS_WITH_AS(adafactor({.clip = 0.5}), "adafactor: clip = 0.5 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(adafactor({.epsilon2 = -1}),
                       "adafactor: epsilon1 = 0, epsilon2 = -1 and weight_decay = 0 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(asgd({.power = -1}), "asgd: power = -1 must be finite and at least 0", ValueError);
}

TEST_CASE_TEMPLATE("L-BFGS takes PyTorch's steps over all parameters together", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T pictures = array<M>(descent_file, "lbfgs/pictures"), signs = array<M>(descent_file, "lbfgs/signs");
  const T weights = T::variable(array<M>(descent_file, "lbfgs/weights"), "weights");
  const T bias = T::variable(array<M>(descent_file, "lbfgs/bias"), "bias");
  const std::vector<T> parameters{weights, bias};
  Descent descent = lbfgs({.rate = 0.8, .history = 4});
  auto step = compile([&](T x) {
    const auto loss = [&](T in) {
      return mean(softplus(-(signs * (matmul(in, weights) + bias)))) + 0.05 * sum(square(weights));
    };
    auto [value, gradients] = value_and_grad(loss, parameters)(x);
    descent.update(parameters, gradients);
    return value;
  });
  std::vector<T> values;
  for (int i = 0; i < 12; ++i) {
    (void)step(pictures);
    std::vector<double> all = weights.template to_vector<double>();
    all.push_back(bias.template item<double>());
    values.push_back(T::from(all, {6}));
  }
  check_near(stack(values), array<Eager>(descent_file, "lbfgs/values"), "the parameters after each update");
  CHECK(descent.count() == 12);
  const auto states = descent.state({{"weights", Tensor<Any>(weights.value())}, {"bias", Tensor<Any>(bias.value())}});
  CHECK(states.size() == 8);
  CHECK(states[1].name == "lbfgs.steps");
  CHECK(states[1].value.shape() == Shape{4, 6});
  CHECK_THROWS_WITH_AS((void)lbfgs().use(sgd(), std::vector{weights}), "lbfgs: lbfgs is of all parameters together",
                       ValueError);
  CHECK_THROWS_WITH_AS(descent.update(std::vector{weights}, std::vector{weights + 0}),
                       "lbfgs: is of all parameters together, which must be those of the first update: 2; given are 1, "
                       "or others",
                       ValueError);
  CHECK_THROWS_WITH_AS(lbfgs({.history = 0}), "lbfgs: history = 0 must be at least 1", ValueError);
}

TEST_CASE("schedules give PyTorch's rates") {
  check_rate("step", step_decay(0.5, 0.5, 5));
  check_rate("multi_step", multi_step(0.5, 0.5, {3, 7, 8}));
  check_rate("exponential", exponential_decay(0.5, -std::log(0.9)));
  check_rate("polynomial", polynomial_decay(0.5, 0, 10, 2));
  check_rate("linear", polynomial_decay(0.5, 0.125, 10));
  check_rate("cosine", cosine_decay(0.5, 0.01, 23));
  check_rate("restarts", cosine_restarts(0.5, 0.01, 7));
  check_rate("restarts_growing", cosine_restarts(0.5, 0.01, 3, 2));
  check_rate("one_cycle", one_cycle(0.4, 25));
  check_rate("one_cycle_three",
             one_cycle(0.4, 25,
                       {.rising = 0.4, .first_factor = 10, .last_factor = 100, .three_phases = true, .linear = true}));
  check_rate("cyclic", cyclic(0.1, 0.5, {.rising = 3, .falling = 5}));
  check_rate("cyclic_halved", cyclic(0.1, 0.5, {.rising = 4, .cycle_factor = 0.5}));
  check_rate("cyclic_fading", cyclic(0.1, 0.5, {.rising = 4, .update_factor = 0.9}));
  check_rate("sequence", in_sequence({{0, 0.05}, {4, exponential_decay(0.5, -std::log(0.9))}}));
}

TEST_CASE("a rate falls on a plateau when PyTorch's does") {
  check_plateau("plain", Plateau(0.5, {.factor = 0.5, .patience = 2}));
  check_plateau(
      "all",
      Plateau(0.5, {.factor = 0.5, .patience = 1, .threshold = 0.15, .relative = false, .cooldown = 2, .least = 0.1}));
  check_plateau("larger", Plateau(0.5, {.factor = 0.5, .patience = 2, .larger_is_better = true}));
}

TEST_CASE_TEMPLATE("averaged weights are PyTorch's, taken in a compiled step", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T values = array<M>(descent_file, "given/gradients");
  for (const bool decaying : {false, true}) {
    const T w = T::variable(T::zeros({3, 4}, DType::f64), "w");
    const T steps = T::persistent(T::zeros({}, DType::i64), "steps");
    AveragedWeights average({{"w", w.value()}, {"steps", steps.value()}},
                            {.decay = decaying ? std::optional(0.75) : std::nullopt});
    auto step = compile([&](T x) {
      assign(w, x);
      assign(steps, steps + 1);
      average.update();
      return x;
    });
    const Tensor<Any> shown = average.state()[0].value;
    std::vector<T> found;
    for (std::int64_t i = 0; i < values.shape()[0]; ++i) {
      (void)step(copy(std::as_const(values)(i)));
      found.push_back(T::from(shown.to_vector<double>(), w.shape()));
    }
    check_near(stack(found), array<Eager>(descent_file, decaying ? "average/decay" : "average/mean"), "averages");
    // The model has the averages until they are exchanged again.
    const std::vector<double> own = w.template to_vector<double>(), other = shown.to_vector<double>();
    average.exchange();
    CHECK(w.template to_vector<double>() == other);
    CHECK(steps.template item<std::int64_t>() == 8);
    average.exchange();
    CHECK(w.template to_vector<double>() == own);
  }
}

TEST_CASE_TEMPLATE("two half batches gathered make the update of a whole one", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = array<M>(descent_file, "given/weights");
  const auto trained = [&](int parts) {
    const T w = T::variable(T::ones({4}, DType::f64), "w");
    Descent descent = sgd({.rate = 0.1});
    GradientSum gradients;
    auto gather = compile([&](T in) {
      auto [loss, found] =
          value_and_grad([&](const T& rows) { return mean(square(matmul(rows, w))); }, std::vector{w})(in);
      gradients.add(found);
      return loss;
    });
    for (int round = 0; round < 3; ++round) {
      for (int part = 0; part < parts; ++part) (void)gather(parts == 1 ? x : copy(x(slice(part, part + 1))));
      descent.update(std::vector{w}, gradients.take_mean());
    }
    return T::from(w.template to_vector<double>(), {4});
  };
  check_near(trained(3), Tensor<Eager>::from(trained(1).template to_vector<double>(), {4}), "three parts, or one");
}

TEST_CASE_TEMPLATE("groups of parameters go by rates, decays and rules of their own", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T a = T::variable(T::ones({2}), "a"), b = T::variable(T::ones({2}), "b"), c = T::variable(T::ones({2}), "c");
  Descent descent = sgd({.rate = 0.1, .weight_decay = 0.5});
  descent.use(sgd({.rate = 0.01}), std::vector{b}).use(lion({.rate = 0.25}), std::vector{c});
  auto step = compile([&](T g) {
    descent.update(std::vector{a, b, c}, std::vector{g, g, g});
    return g;
  });
  (void)step(T{1.0, 2.0});
  CHECK(a.template to_vector<float>() == std::vector<float>{0.85f, 0.75f});
  CHECK(b.template to_vector<float>() == std::vector<float>{0.99f, 0.98f});
  CHECK(c.template to_vector<float>() == std::vector<float>{0.75f, 0.75f});
  const NamedList<Tensor<Any>> state = descent.state({{"a", a.value()}, {"b", b.value()}, {"c", c.value()}});
  REQUIRE(state.size() == 2);
  CHECK(state[1].name == "c.mean");
}

TEST_CASE_TEMPLATE("a rate that falls on a plateau is read anew by a compiled step", M, Eager, Lazy) {
  using T = Tensor<M>;
  Plateau plateau(0.5, {.factor = 0.5, .patience = 0});
  const T w = T::variable(T::zeros({1}), "w");
  Descent descent = sgd({.rate = plateau.rate()});
  auto step = compile([&](T g) {
    descent.update(std::vector{w}, std::vector{g});
    return g;
  });
  (void)step(T{1.0});
  CHECK(!plateau.observe(1));
  CHECK(plateau.observe(1));
  (void)step(T{1.0});
  CHECK(w.template item<float>() == -0.75f);
}

TEST_CASE("a schedule can count epochs") {
  const LearningRate rate = per_epoch(10, step_decay(1, 0.5, 2));
  const auto at = [&](double count) {
    return cast(rate.at(Tensor<Any>::full({}, count, DType::f64)), DType::f64).item<double>();
  };
  CHECK(at(19) == 1);
  CHECK(at(20) == doctest::Approx(0.5));
  CHECK(at(45) == doctest::Approx(0.25));
}

TEST_CASE("a cosine restarts at the count where its cycle begins, not one before or after") {
  // Cycle n takes steps * factor^n updates. Logarithms of counts are rounded to either side of n.
  for (const DType type : {DType::f32, DType::f64}) {
    for (std::int64_t factor = 2; factor <= 5; ++factor) {
      for (std::int64_t steps = 1; steps <= 12; ++steps) {
        std::vector<double> counts, expected;
        for (std::int64_t begin = 0, length = steps; begin + length < 1'000'000; begin += length, length *= factor) {
          const auto part = [&](std::int64_t at) { return static_cast<double>(at) / static_cast<double>(length); };
          for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, length - 1}) {
            if (at >= length) continue;
            counts.push_back(static_cast<double>(begin + at));
            expected.push_back(0.25 + 0.5 * (1 + std::cos(std::numbers::pi * part(at))));
          }
        }
        CAPTURE(steps);
        CAPTURE(factor);
        const Tensor<Any> given = Tensor<Any>::from(counts, {std::ssize(counts)}).astype(type);
        const std::vector<double> found =
            cast(cosine_restarts(1.25, 0.25, steps, factor).at(given), DType::f64).to_vector<double>();
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-4);
      }
    }
  }
}

TEST_CASE("what counts as improvement is a part of the best figure's size, whatever its sign") {
  Plateau smaller(1, {.factor = 0.5, .patience = 0, .threshold = 0.25});
  CHECK(!smaller.observe(-4));
  CHECK(!smaller.observe(-5.5));
  CHECK(smaller.observe(-6));  // -6.875 would have been enough
  Plateau larger(1, {.factor = 0.5, .patience = 0, .threshold = 0.25, .larger_is_better = true});
  CHECK(!larger.observe(-4));
  CHECK(!larger.observe(-2.5));
  CHECK(larger.observe(-2));  // -1.875
}

TEST_CASE_TEMPLATE("Muon moves a tall matrix as it moves the wide one that is its transpose", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T wide = T::variable(T{{0.5, -1.0, 2.0}, {1.5, 0.25, -0.5}}, "wide");
  const T tall = T::variable(T{{0.5, 1.5}, {-1.0, 0.25}, {2.0, -0.5}}, "tall");
  const T gradient{{1.0, 0.5, -0.25}, {-2.0, 0.125, 1.0}};
  // A scale that does not tell rows from columns.
  Descent descent = muon({.rate = 0.25, .scale = MuonScale::adam});
  for (int i = 0; i < 3; ++i) descent.update(std::vector{wide, tall}, std::vector{gradient, transpose(gradient)});
  const auto expected = Tensor<Eager>::from((wide + 0).template to_vector<float>(), {2, 3});
  check_near(transpose(tall + 0), expected, "the transpose");
}

TEST_CASE_TEMPLATE("Adafactor stays where there is no gradient", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T matrix = T::variable(T{{1.0, -2.0}, {3.0, 4.0}}, "matrix"), vector = T::variable(T{1.0, 2.0}, "vector");
  Descent descent = adafactor({.weight_decay = 0});
  descent.update(std::vector{matrix, vector}, std::vector{zeros_like(matrix), zeros_like(vector)});
  CHECK((matrix + 0).template to_vector<float>() == std::vector<float>{1, -2, 3, 4});
  CHECK((vector + 0).template to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("schedules, groups and averages refuse what makes no sense") {
  using T = Tensor<Eager>;
  const T w = T::variable(T::ones({2}), "w");
  CHECK_THROWS_WITH_AS(step_decay(1, 0.5, 0), "step_decay: 0 steps; at least 1 is needed", ValueError);
  CHECK_THROWS_WITH_AS(multi_step(1, 0, {1}), "multi_step: the factor 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(polynomial_decay(1, 0, 5, 0), "polynomial_decay: the power 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(cosine_restarts(1, 0, 5, 0), "cosine_restarts: the factor 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(one_cycle(1, 5, {.rising = 1}), "one_cycle: the rising share 1 must be between 0 and 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(one_cycle(1, 5, {.first_factor = 0}), "one_cycle: the factors 0 and 10000 must be positive",
                       ValueError);
  CHECK_THROWS_WITH_AS(cyclic(0.1, 1, {.falling = 0}), "cyclic: rising = 2000 and falling = 0 must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(cyclic(0.1, 1, {.cycle_factor = 0}), "cyclic: the factor 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(in_sequence({{1, 0.1}}), "in_sequence: the first entry must be for count 0", ValueError);
  CHECK_THROWS_WITH_AS(per_epoch(0, 0.1), "per_epoch: 0 steps; at least 1 is needed", ValueError);
  CHECK_THROWS_WITH_AS(Plateau(0.1, {.factor = 1}), "Plateau: the factor 1 must be between 0 and 1", ValueError);
  CHECK_THROWS_WITH_AS(Plateau(0.1, {.patience = -1}), "Plateau: patience = -1 and cooldown = 0 must be at least 0",
                       ValueError);
  CHECK_THROWS_WITH_AS(AveragedWeights({}, {.decay = 1}), "AveragedWeights: the decay 1 must be in [0, 1)", ValueError);
  GradientSum gradients;
  CHECK_THROWS_WITH_AS(gradients.take_mean(), "GradientSum: nothing was added yet", GraphError);
  gradients.add(std::vector{T::ones({2})});
  CHECK_THROWS_WITH_AS(gradients.add(std::vector{T::ones({3})}),
                       "GradientSum: gradient 0 has shape (3,), at first it had (2,)", ShapeError);
  CHECK_THROWS_WITH_AS(gradients.add(std::vector<T>{}), "GradientSum: given 0 gradients, at first there were 1",
                       ValueError);
  Descent descent = sgd();
  descent.update(std::vector{w}, std::vector{w + 0});
  CHECK_THROWS_WITH_AS(descent.use(sgd(), std::vector{w}),
                       "sgd: rules of groups are given before their parameters' first update", ValueError);
  Descent grouped = sgd();
  grouped.use(sgd(), std::vector{w});
  CHECK_THROWS_WITH_AS((void)adam().use(std::move(grouped), std::vector{w}),
                       "adam: a group goes by one rule, not by groups of its own", ValueError);
}

}  // namespace tyto::nn
