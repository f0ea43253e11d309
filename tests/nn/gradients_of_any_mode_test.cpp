// SPDX-License-Identifier: MIT
// Gradients of a model's parameters, which serve both modes, together with tensors of one.
#include <doctest/doctest.h>

#include <type_traits>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"

namespace tyto::nn {

BOTH_MODES("gradients of a model meet tensors of a mode in arithmetic") {
  using T = Tensor<Mode>;
  const Linear model({.in = 2, .out = 1, .bias = false});
  auto [loss, gradients] = value_and_grad([&](const T& x) { return sum(model(x)); }, model.parameters())(T{{3.0, 5.0}});
  const Tensor<Any> g = reshape(gradients[0], {2});  // the input
  const T x{1.0, 2.0};
  const auto holds = [](const T& y, float first, float second) {
    CHECK(y.template to_vector<float>() == std::vector<float>{first, second});
  };
  holds(g + x, 4, 7);
  holds(x + g, 4, 7);
  holds(g - x, 2, 3);
  holds(x - g, -2, -3);
  holds(g * x, 3, 10);
  holds(x * g, 3, 10);
  holds(g / x, 3, 2.5F);
  holds(x / g, 1 / 3.0F, 0.4F);
  const auto tells = [](const T& y, bool first, bool second) {
    const T expected{first, second};
    CHECK(y.dtype() == DType::boolean);
    CHECK(array_equal(y, expected));
  };
  const T limit{3.0, 6.0};
  tells(g == limit, true, false);
  tells(limit != g, false, true);
  tells(g < limit, false, true);
  tells(limit <= g, true, false);
  tells(g > limit, false, false);
  tells(limit >= g, true, true);

  T moved{1.0, 2.0};
  moved -= 0.5 * g;
  holds(moved, -0.5F, -0.5F);
  moved += g;
  moved *= g;
  moved /= g;
  holds(moved, 2.5F, 4.5F);
  Tensor<Any> scaled = g;
  scaled *= x;
  scaled += x;
  scaled -= x;
  scaled /= x;
  holds(T(scaled.value()), 3, 5);
  static_assert(std::is_same_v<decltype(g + x), T> && std::is_same_v<decltype(x * g), T>);
}

BOTH_MODES("a step of one's own updates a model's parameters inside of a compiled function") {
  using T = Tensor<Mode>;
  const Linear model({.in = 2, .out = 1, .bias = false});
  std::vector<Tensor<Any>> parameters = model.parameters();
  assign(parameters[0], Tensor<Any>::zeros(parameters[0].shape()));
  auto step = compile([&](T x, T rate) {
    auto [loss, gradients] = value_and_grad([&](const T& in) { return sum(model(in)); }, parameters)(x);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * gradients[i];
    return loss;
  });
  for (int i = 1; i <= 2; ++i) {
    (void)step(T{{3.0, 5.0}}, T(0.5));
    CHECK(parameters[0].to_vector<float>() == std::vector<float>{-1.5F * float(i), -2.5F * float(i)});
  }
}

}  // namespace tyto::nn
