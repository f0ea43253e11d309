// SPDX-License-Identifier: MIT
// Updates of gradient descent as one node each: in place, known by their rule, with the bits of eager mode.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/fuse.hpp"
#include "tests/passes/sketch.hpp"
#include "tyto/nn.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

template <class Mode>
struct Trained {
  std::vector<float> values;
  GraphReport report;
};

template <class Mode>
Trained<Mode> trained(nn::Descent descent, DType dtype = DType::f32, const char* passes = "fuse") {
  using T = Tensor<Mode>;
  std::vector<T> parameters{T::variable(cast(reshape(T::arange(0, 600, 1, DType::f32), {30, 20}) * 0.01, dtype), "w"),
                            T::variable(cast(T::ones({20}), dtype), "b")};
  const auto update = [&](T x) {
    const auto objective = [&](T in) { return mean(square(matmul(in, parameters[0]) + parameters[1])); };
    auto [loss, gradients] = value_and_grad(objective, parameters)(x);
    descent.update(parameters, gradients);
    return loss;
  };
  auto step = compile(update, {.passes = passes});
  const T x = cast(reshape(T::arange(0, 150, 1, DType::f32), {5, 30}) * 0.02 - 1.0, dtype);
  for (int i = 0; i < 4; ++i) step(x);
  Trained<Mode> out;
  for (const T& parameter : parameters) {
    for (const float value : cast(parameter, DType::f32).template to_vector<float>()) out.values.push_back(value);
  }
  if constexpr (std::is_same_v<Mode, Lazy>) out.report = step.report();
  return out;
}

struct DescentCase {
  const char* name;
  std::function<nn::Descent()> make;
  // States that the update of one parameter writes: the parameter, and its count where the rule asks for one.
  std::size_t states = 1;
};

std::vector<DescentCase> descents() {
  return {{"adagrad", [] { return nn::adagrad({.rate = 0.05}); }},
          {"momentum", [] { return nn::sgd({.rate = 0.01, .momentum = 0.9}); }},
          {"momentum", [] { return nn::sgd({.rate = 0.01, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}); }},
          {"rmsprop", [] { return nn::rmsprop({.rate = 0.05}); }},
          {"adam", [] { return nn::adam({.rate = 0.05}); }, 2},
          {"adam", [] { return nn::adamw({.rate = 0.05}); }, 2}};
}

}  // namespace

TEST_CASE("updates of descent in one group each, states written in place, give the bits of eager mode") {
  for (const DescentCase& each : descents()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(std::string(each.name));
      CAPTURE(dtype);
      const Trained<Lazy> lazy = trained<Lazy>(each.make(), dtype);
      CHECK(lazy.values == trained<Eager>(each.make(), dtype).values);
      CHECK(lazy.report.passes.fired("state_updates") == 2 * each.states);
    }
  }
}

TEST_CASE("reports name the rule of descent that updates each state, fused or not") {
  for (const char* passes : {"fuse", "", "none"}) {
    CAPTURE(std::string(passes));
    const GraphReport report = trained<Lazy>(nn::adagrad({.rate = 0.05}), DType::f32, passes).report;
    REQUIRE(report.updates.size() == 5);
    const auto named = [&](const char* state, const char* rule) {
      return std::ranges::count_if(report.updates, [&](const StateUpdate& update) {
        return update.state == state && update.rule == rule && update.in_place;
      });
    };
    CHECK(named("w", "adagrad") == 1);
    CHECK(named("b", "adagrad") == 1);
    CHECK(named("adagrad squares", "adagrad") == 2);
    CHECK(named("adagrad count", "add") == 1);
    std::ostringstream text;
    text << report;
    CHECK(text.str().find("\n  4 states updated by adagrad, in place\n") != std::string::npos);
  }
}

TEST_CASE("each update of descent is one node and takes no memory but for Adam's rates") {
  const std::size_t without_state = trained<Lazy>(nn::sgd({.rate = 0.01}), DType::f32, "").report.arena_bytes;
  for (const DescentCase& each : descents()) {
    CAPTURE(std::string(each.name));
    const GraphReport report = trained<Lazy>(each.make(), DType::f32, "").report;
    CHECK(report.passes.fired("state_updates") == 2 * each.states);
    // Two products, the first with its bias, loss, gradient, two gradients' sums at most, an update of each parameter,
    // the count of all updates; Adam's own count of each parameter.
    CHECK(report.steps <= 8 + 2 * each.states);
    const std::size_t rates = std::string(each.name) == "adam" ? 2 * 64 : 0;
    CHECK(report.arena_bytes >= without_state);
    CHECK(report.arena_bytes <= without_state + rates);
  }
}

TEST_CASE("a group is a state's update when it reads the state that its result becomes") {
  const auto updates = [](bool reads_state) {
    core::GraphBuilder builder;
    const core::TensorType type{DType::f32, {8}, false};
    const auto input = [&](const char* name) {
      return builder.add_input(type, {.port = 0, .name = name, .state = nullptr, .generator = false});
    };
    const Port w = input("w"), g = input("g");
    const Port step = builder.add(OpId::sqrt, core::Attributes(), {g});
    builder.add_update(0, builder.add(OpId::subtract, core::Attributes(), {reads_state ? w : g, step}));
    optimiser::FuseCounts counts;
    (void)optimiser::fuse(builder.finish(), {}, &counts);
    CHECK(counts.groups == 1);
    return counts.updates;
  };
  CHECK(updates(true) == 1);
  CHECK(updates(false) == 0);
}
