// SPDX-License-Identifier: MIT
// Training that would go wrong without a word: gradients of nothing, layers that a function captures, calls without a
// phase, orders of samples, and weights whose axes a file does not tell.
#include <doctest/doctest.h>

#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

constexpr const char* reads_none =
    "value_and_grad: the function reads none of the 2 variables that its gradient is asked for, the first of them "
    "'weight'; compute the loss inside of the function, by the model whose parameters() are given";

}  // namespace

BOTH_MODES("a loss that was computed before, or by another model, is refused") {
  using T = Tensor<Mode>;
  const nn::Linear model({.in = 2, .out = 1}), other({.in = 2, .out = 1});
  const T x = T::ones({3, 2});
  const T early = mean(square(model(x)));
  const auto before = [&](const T&) { return early; };
  const auto of_other = [&](const T& in) { return T(mean(square(other(in)))); };
  CHECK_THROWS_WITH_AS(value_and_grad(before, model.parameters())(x), reads_none, GraphError);
  CHECK_THROWS_WITH_AS(value_and_grad(of_other, model.parameters())(x), reads_none, GraphError);
  CHECK_THROWS_WITH_AS(grad(of_other, model.parameters())(x), reads_none, GraphError);
  auto step = compile([&](T in) { return value_and_grad(of_other, model.parameters())(in).first; });
  CHECK_THROWS_WITH_AS(step(x), reads_none, GraphError);
}

BOTH_MODES("a loss of some of the parameters, or that is constant in them, has gradients of zeros") {
  using T = Tensor<Mode>;
  const T v = T::variable(2.0, "v"), w = T::variable(3.0, "w");
  const T x = 5.0, minus = -1.0;
  const auto gradients = [](auto f, const std::vector<T>& by, const T& at) {
    Numbers all;
    for (const T& each : value_and_grad(std::move(f), by)(at).second) all.push_back(each.template item<double>());
    return all;
  };
  CHECK(gradients([&](T in) { return v * in; }, {v, w}, x) == Numbers{5, 0});
  CHECK(gradients([&](T in) { return stop_gradient(v) * in; }, {v}, x) == Numbers{0});
  CHECK(gradients([&](T in) { return floor(v * in); }, {v}, x) == Numbers{0});
  // The gradient of a linear function, by the variable that it is linear in.
  const auto linear = [&](T in) { return v * in; };
  CHECK(gradients([&](T in) { return grad(linear, std::vector<T>{v})(in)[0]; }, {v}, x) == Numbers{0});
  CHECK(gradients([&](T in) { return grad(linear)(in) * v; }, {v}, x) == Numbers{4});
  // Which arm runs is decided by data.
  const auto chosen = [&](T in) {
    return cond(
        in > 0.0, [&](T y) { return T(y * w); }, [](T y) { return T(y); }, in);
  };
  CHECK(gradients(chosen, {w}, x) == Numbers{5});
  CHECK(gradients(chosen, {w}, minus) == Numbers{0});
  const auto never = [&](T in) { return fori_loop(0, 0, in, [&](const auto&, const T& y) { return T(y * w); }); };
  CHECK(gradients(never, {w}, x) == Numbers{0});
  // By arguments, as mathematics asks for, nothing is refused.
  CHECK(grad([](T in) { return T(sum(in)) * 0.0 + 1.0; })(x).template item<double>() == 0);
  CHECK(value_and_grad([&](T) { return v * 2.0; })(x).second[0].template item<double>() == 0);
  CHECK(numbers(hessian([](T in) { return T(sum(3.0 * in)); })(T::ones({2}))) == Numbers(4, 0));
  CHECK(value_and_grad([](T in) { return T(sum(in)); }, nn::ReLU().parameters())(x).second.empty());
}

BOTH_MODES("frozen layers, custom gradients and layers in loops are trained around") {
  using T = Tensor<Mode>;
  const nn::Sequential model{nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 1})};
  model.freeze("0");
  const T x = T::ones({3, 2});
  CHECK(value_and_grad([&](T in) { return T(sum(model(in))); }, model.parameters())(x).second.size() == 2);
  const T w = T::variable(2.0, "w");
  auto passed = custom_gradient<T>([](const auto& in) { return T(in[0] * 1.0); },
                                   [](const auto&, const T&, const T&) { return std::vector<T>{T()}; });
  CHECK(value_and_grad([&](T) { return passed({w}); }, {w})(x).second[0].template item<double>() == 0);
  const auto looped = [&](T in) {
    return T(sum(fori_loop(0, 2, in, [&](const auto&, const T& y) { return T(y * w); })));
  };
  CHECK(value_and_grad(looped, {w})(x).second[0].template item<double>() == 24);  // of 6 w^2
}
