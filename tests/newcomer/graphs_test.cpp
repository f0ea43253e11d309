// SPDX-License-Identifier: MIT
// Training in explicit graphs, reports in either mode, and operators of one's own under an Autocast.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

TEST_CASE("an update by gradients that depend on a placeholder is refused, and leaves the weights as they were") {
  using T = Tensor<Lazy>;
  const nn::Linear model({.in = 3, .out = 1});
  nn::Descent descent = nn::sgd({.rate = 0.1});
  const Numbers before = numbers(model.weight);
  const T x = T::placeholder({4, 3}, DType::f32, "x");
  auto [loss, g] = value_and_grad([&](T in) { return sum(square(model(in))); }, model.parameters())(x);
  CHECK_THROWS_WITH_AS(
      descent.update(model.parameters(), g),
      "sgd: a gradient depends on the placeholder 'x', which has no value; compile() the step, or give "
      "an explicit Graph the updates: .updates = descent.updates(parameters, gradients)",
      GraphError);
  CHECK(numbers(model.weight) == before);
  CHECK(descent.count() == 0);
}

TEST_CASE("an explicit graph trains by descent.updates as a compiled step does") {
  using T = Tensor<Lazy>;
  const auto constant = [] { return nn::Linear({.in = 3, .out = 1, .initial = nn::constant_weights(0.5)}); };
  const nn::Linear in_graph = constant(), compiled = constant();
  nn::Descent by_graph = nn::adam({.rate = 0.1}), by_step = nn::adam({.rate = 0.1});
  const T data = T::ones({4, 3});
  const T x = T::placeholder({4, 3}, DType::f32, "x");
  auto [loss, g] = value_and_grad([&](T in) { return sum(square(in_graph(in))); }, in_graph.parameters())(x);
  Graph graph{{.inputs = {x}, .outputs = {loss}, .updates = by_graph.updates(in_graph.parameters(), g)}};
  graph.set(x, data);
  auto step = compile([&](T in) {
    auto [l, slopes] = value_and_grad([&](T each) { return sum(square(compiled(each))); }, compiled.parameters())(in);
    by_step.update(compiled.parameters(), slopes);
    return l;
  });
  Numbers losses;
  for (int i = 0; i < 3; ++i) {
    graph.run();
    losses.push_back(graph[loss].item<double>());
    CHECK(losses.back() == step(data).item<double>());
  }
  CHECK(losses[0] == 9);  // 4 (3 / 2)^2
  CHECK(losses[2] < losses[0]);
  CHECK(numbers(in_graph.weight) == numbers(compiled.weight));
  CHECK(by_graph.count() == 3);
}

BOTH_MODES("a training phase that is recorded from a placeholder leaves running statistics and the model whole") {
  using T = Tensor<Mode>;
  const auto same = nn::constant_weights(0.5);
  const nn::Linear linear({.in = 2, .out = 3, .initial = same});
  const nn::BatchNorm1d batch_norm({.channels = 3});
  const nn::InstanceNorm instance_norm({.channels = 3, .track = true});
  const nn::Embedding embedding({.count = 4, .features = 3, .max_norm = 0.1});
  const Numbers rows = numbers(embedding.weight);
  const auto loss = [&](const T& x) {
    const T y = batch_norm(linear(x), nn::training);
    const T z = instance_norm(y.reshape({1, 4, 3}), nn::training);
    return sum(square(y + z(0) + embedding((0.0 * x(all, 0)).astype(DType::i64), nn::training)));
  };
  const auto batch = T{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}, {7.0, 8.0}};
  if constexpr (std::is_same_v<Mode, Lazy>) {
    const T x = T::placeholder({4, 2}, DType::f32, "x");
    Graph graph{{.inputs = {x}, .outputs = {loss(x)}}};
    graph.set(x, batch);
    graph.run();
    CHECK(graph.output(0).item<double>() > 0);
  } else {
    CHECK(batch_norm(linear(batch)).shape() == Shape{4, 3});
  }
  CHECK(numbers(batch_norm.running_mean) == Numbers{0, 0, 0});
  CHECK(numbers(batch_norm.running_var) == Numbers{1, 1, 1});
  CHECK(batch_norm.num_batches_tracked.item<int>() == 0);
  CHECK(numbers(instance_norm.running_mean) == Numbers{0, 0, 0});
  CHECK(numbers(embedding.weight) == rows);
  // What is given a batch learns from it as ever: the mean of a line (1.5, 3.5, 5.5, 7.5) is 4.5.
  compile(loss)(batch);
  CHECK(numbers(T(batch_norm.running_mean) * 10.0) == Numbers{4.5, 4.5, 4.5});
  CHECK(batch_norm.num_batches_tracked.item<int>() == 1);
  CHECK(numbers(embedding.weight) != rows);
}

TEST_CASE("plan() and report() of a function that was called in eager mode only say so") {
  auto f = compile([](Tensor<Eager> x) { return x * 2.0; });
  for (int i = 0; i < 3; ++i) f(Tensor<Eager>(1.0));
  const char* told =
      "compile: plans, reports and pictures are of calls in lazy mode, and there was none yet (eager calls are "
      "computed line by line)";
  CHECK_THROWS_WITH_AS(f.plan(), told, GraphError);
  CHECK_THROWS_WITH_AS(f.report(), told, GraphError);
}

BOTH_MODES("an operator of one's own takes what layers yield under an Autocast") {
  using T = Tensor<Mode>;
  const auto cube = custom_op({
      .name = "cube",
      .results = [](ArrayTypes in) { return std::vector{in[0]}; },
      .host =
          [](HostInputs in, HostResults out) {
            const auto x = in[0].data<float>();
            const auto y = out[0].data<float>();
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
          },
      .gradient = [](const auto& in, const auto&, const auto& g) { return std::vector{g[0] * 3 * square(in[0])}; },
  });
  const nn::Linear model({.in = 2, .out = 1, .initial = nn::constant_weights(1)});
  const nn::Autocast half(DType::f16);
  const T x{{1.0, 2.0}};
  auto [loss, g] = value_and_grad([&](T in) { return sum(cube(model(in))); }, model.parameters())(x);
  CHECK(loss.template item<double>() == 27);
  CHECK(numbers(g[0]) == Numbers{27, 54});
  CHECK(cube(x.astype(DType::f16)).dtype() == DType::f16);
}

// Each gradient is 1 by both weight and bias, each update takes 0.5 of it.
BOTH_MODES("freeze and unfreeze count from the next call of a compiled step on") {
  using T = Tensor<Mode>;
  const nn::Linear model({.in = 1, .out = 1, .initial = nn::constant_weights(1)});
  assign(model.bias, Tensor<Any>::zeros(1));
  nn::Descent descent = nn::sgd({.rate = 0.5});
  int recorded = 0;
  auto step = compile([&](T x) {
    ++recorded;
    auto [loss, g] = value_and_grad([&](T in) { return sum(model(in)); }, model.parameters())(x);
    descent.update(model.parameters(), g);
    return loss;
  });
  const T x = T::ones({1, 1});
  CHECK(step(x).template item<float>() == 1);
  model.freeze("weight");
  CHECK(step(x).template item<float>() == 0);
  CHECK(step(x).template item<float>() == -0.5);
  CHECK(numbers(model.weight) == Numbers{0.5});
  CHECK(numbers(model.bias) == Numbers{-1.5});
  model.unfreeze();
  CHECK(step(x).template item<float>() == -1);
  CHECK(numbers(model.weight) == Numbers{0});
  CHECK(recorded == (std::is_same_v<Mode, Lazy> ? 2 : 4));  // what was recorded before is found again
}

BOTH_MODES("an argument that a compiled function leaves in a list is told to be returned, in lazy mode") {
  using T = Tensor<Mode>;
  std::vector<T> kept;
  auto f = compile([&](T x) {
    kept.push_back(x);
    kept.push_back(x + 1);
    return x * 2;
  });
  CHECK(numbers(f(T::ones(2))) == Numbers{2, 2});
  if (std::is_same_v<Mode, Eager>) {
    CHECK(numbers(kept[0] + kept[1]) == Numbers{3, 3});
    return;
  }
  for (const T& each : {kept[0], kept[1], kept[0] + 1}) {
    CHECK_THROWS_WITH_AS(each.to_string(),
                         "a tensor made while a function or the body of a loop or branch was recorded is used outside "
                         "of it; return it",
                         GraphError);
  }
}
