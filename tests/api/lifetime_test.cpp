// SPDX-License-Identifier: MIT
// Memory is freed when nobody can see it any more: loops keep nothing of earlier steps, deep graphs use no stack.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

std::size_t held_bytes() { return tyto::devices()[0].allocated; }

// Bytes held more after a thousand further steps of a loop than after the first ones.
template <class F>
std::ptrdiff_t growth(F step) {
  for (int i = 0; i < 20; ++i) step();
  const std::size_t before = held_bytes();
  for (int i = 0; i < 300; ++i) step();
  return static_cast<std::ptrdiff_t>(held_bytes()) - static_cast<std::ptrdiff_t>(before);
}

constexpr std::ptrdiff_t one_tensor = 4096 * 4;

}  // namespace

BOTH_MODES("a loop over expressions holds no more after a thousand rounds than after one") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::ones({4096});
  CHECK(growth([&] {
          x = tanh(x * 0.5 + 1.0);
          (void)x.template data<float>();
        }) <= 4 * one_tensor);
}

BOTH_MODES("a descent by gradients keeps nothing of the steps before") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::ones({4096});
  const auto gradient = tyto::grad([](Tensor v) { return (v * v).sum(); });
  CHECK(growth([&] {
          auto g = gradient;
          x = x - 0.001 * g(x);
          (void)x.template data<float>();
        }) <= 4 * one_tensor);
}

BOTH_MODES("gradients that are kept do not keep what they were computed from") {
  using Tensor = tyto::Tensor<Mode>;
  const auto wide = [](Tensor v) { return exp(broadcast_to(v, {4096, 16}) * 0.001).sum(); };
  std::vector<Tensor> kept;
  const Tensor x = Tensor::ones({1, 16});
  for (int i = 0; i < 5; ++i) {
    kept.push_back(tyto::grad(wide)(x));
    (void)numbers(kept.back());
  }
  const std::size_t before = held_bytes();
  for (int i = 0; i < 50; ++i) {
    kept.push_back(tyto::grad(wide)(x));
    (void)numbers(kept.back());
  }
  CHECK(static_cast<std::ptrdiff_t>(held_bytes()) - static_cast<std::ptrdiff_t>(before) < 16 * one_tensor);
}

BOTH_MODES("values that are kept from a gradient do not keep its tape") {
  using Tensor = tyto::Tensor<Mode>;
  std::vector<Tensor> losses;
  const Tensor x = Tensor::ones({4096});
  CHECK(growth([&] {
          auto f = tyto::value_and_grad([](Tensor v) { return (exp(v * 0.5) * v).sum(); });
          losses.push_back(f(x).first);
          (void)numbers(losses.back());
        }) <= 30 * one_tensor);
}

BOTH_MODES("a state assigned over and over holds its last value only") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor::ones({4096}));
  CHECK(growth([&] {
          assign(w, w * 0.5 + 1.0);
          (void)w.template data<float>();
        }) <= 4 * one_tensor);
  auto step = tyto::compile([&](Tensor x) { assign(w, w * x); });
  const Tensor x = Tensor::ones({4096});
  CHECK(growth([&] { step(x); }) <= 2 * one_tensor);
}

BOTH_MODES("parts written in a loop leave one tensor") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::zeros({4096});
  CHECK(growth([&] {
          x(7) = x(8) + 1.0;
          (void)x.template data<float>();
        }) <= 4 * one_tensor);
}

TEST_CASE("graphs and compiled functions give their memory back") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const auto make_and_run = [] {
    const Tensor w = Tensor::variable(Tensor::ones({64, 64}));
    const Tensor x = Tensor::placeholder({64, 64});
    tyto::Graph g{{.inputs = {x}, .outputs = {matmul(x, w)}, .updates = {{w, w + x}}}};
    g.set(x, Tensor::ones({64, 64}));
    g.run();
    auto f = tyto::compile([&](Tensor v) { return tanh(matmul(v, w)) + v; });
    (void)numbers(f(Tensor::ones({64, 64})));
  };
  CHECK(growth(make_and_run) <= one_tensor);
}

BOTH_MODES("a chain of a million nodes that is never read is taken down") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::ones({});
  for (int i = 0; i < 1000000; ++i) x = x + 1.0;
  const Tensor held = x;
  x = Tensor();
  CHECK(held.shape() == tyto::Shape{});
}

BOTH_MODES("statistics kept while a gradient is taken hold their last value only") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor mean = Tensor::persistent(Tensor::zeros({4096}));
  const Tensor x = Tensor::ones({4096});
  const auto loss = [&](Tensor v) {
    const Tensor h = v * 2.0;
    assign(mean, mean * 0.9 + h * 0.1);
    return (h * h).sum();
  };
  CHECK(growth([&] {
          (void)numbers(tyto::grad(loss)(x));
          (void)mean.template data<float>();
        }) <= 6 * one_tensor);
  CHECK(numbers(mean)[0] == doctest::Approx(2));
}

BOTH_MODES("reading what is derived from a held broadcast does not make the broadcast dense") {
  using Tensor = tyto::Tensor<Mode>;
  constexpr std::int64_t count = std::int64_t{1} << 28;
  const Tensor one{7.0};
  const Tensor wide = broadcast_to(one, {count});
  const Tensor transposed = wide.reshape({2, count / 2}).T();
  const std::size_t before = held_bytes();
  CHECK(std::as_const(wide)(5).to_string() == "7.0");
  CHECK(numbers(std::as_const(transposed)(3)) == Numbers{7, 7});
  CHECK(numbers(std::as_const(wide)(tyto::slice(2, 4)) * 2.0) == Numbers{14, 14});
  CHECK(held_bytes() < before + one_tensor);
  CHECK(wide.shape() == tyto::Shape{count});
}

BOTH_MODES("what a held broadcast repeats is computed once and kept") {
  using Tensor = tyto::Tensor<Mode>;
  int calls = 0;
  const Tensor counted = tyto::delay<Mode>({1}, DType::f32,
                                           [&](const std::vector<tyto::Tensor<tyto::Eager>>& in) {
                                             ++calls;
                                             return in[0] + 1.0;
                                           },
                                           {Tensor{2.0}});
  const Tensor wide = broadcast_to(counted, {1000});
  CHECK(numbers(std::as_const(wide)(5)) == Numbers{3});
  CHECK(numbers(std::as_const(wide)(6)) == Numbers{3});
  CHECK(numbers(wide.sum()) == Numbers{3000});
  CHECK(calls == 1);
}

BOTH_MODES("what data() gave of a view stays good when it is read again") {
  using Tensor = tyto::Tensor<Mode>;
  constexpr std::int64_t side = 256;
  const Tensor x = Tensor::arange(side * side).astype(DType::f32).reshape({side, side}), turned = x.T();
  tyto::eval({turned});
  const std::span<const float> first = turned.template data<float>();
  const std::span<const float> second = turned.template data<float>();
  CHECK(first.data() == second.data());
  Tensor fill = Tensor::full({side, side}, 5.0, DType::f32);
  tyto::eval({fill});
  CHECK(first[1] == side);
  CHECK(first[side * side - 2] == side * (side - 1) - 1);
}
