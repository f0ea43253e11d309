// SPDX-License-Identifier: MIT
// Compiled functions give the same bits whatever the order in which their operators run.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "optimiser/schedule/schedule.hpp"
#include "tyto/nn.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;

namespace {

// Three steps of training with everything that an order could upset: dropout, momentum, weights read and updated, a
// state whose old value is a result.
std::vector<float> three_steps(const std::string& order) {
  using T = Tensor<Lazy>;
  seed(42);
  const T first = T::variable(T::normal({6, 32}) * 0.3);
  const T second = T::variable(T::normal({32, 4}) * 0.3);
  const T steps = T::persistent(T::zeros({}));
  nn::Descent descent = nn::sgd({.rate = 0.1, .momentum = 0.9});
  const auto loss = [&](const T& x, const T& t) {
    const T hidden = tanh(matmul(x, first));
    const T kept = hidden * cast(T::bernoulli(hidden.shape(), {.probability = 0.8}), DType::f32);
    const T mixed = concat<Lazy>({kept, hidden}, 1);
    const T scores = matmul(mixed(all, slice(0, 32)) + mixed(all, slice(32, 64)), second);
    return mean_squared_error(softmax(scores), t);
  };
  auto step = compile(
      [&](const T& x, const T& t) {
        const T before = steps + 0.0;
        auto [value, gradients] = value_and_grad(loss, std::vector<T>{first, second})(x, t);
        descent.update(std::vector<T>{first, second}, gradients);
        assign(steps, steps + 1.0);
        return std::vector<T>{value, before};
      },
      {.schedule = order});
  std::vector<float> numbers;
  for (int i = 0; i < 3; ++i) {
    const T x = T::normal({8, 6});
    const T t = softmax(T::normal({8, 4}));
    for (const T& result : step(x, t)) numbers.push_back(result.item<float>());
  }
  for (const T& weight : {first, second}) {
    for (const float each : weight.to_vector<float>()) numbers.push_back(each);
  }
  return numbers;
}

}  // namespace

TEST_CASE("every schedule gives the same bits") {
  const std::vector<float> expected = three_steps("recorded");
  CHECK(expected[1] == 0);
  CHECK(expected[3] == 1);
  CHECK(expected[5] == 2);
  for (const auto& strategy : schedule::schedule_strategies()) {
    CAPTURE(strategy.name);
    CHECK(three_steps(std::string(strategy.name)) == expected);
  }
}

TEST_CASE("compiling with an unknown schedule is refused") {
  using T = Tensor<Lazy>;
  auto f = compile([](const T& x) { return x + 1.0; }, {.schedule = "random"});
  CHECK_THROWS_AS(f(T::ones({3})), ValueError);
}
