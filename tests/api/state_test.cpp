// SPDX-License-Identifier: MIT
// The four kinds of state: reads are versions, updates never reach back, and memory is shared only when nobody sees it.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES(
    "a state holds its elements in order, whatever view was assigned: sums over it have the bits of a tensor's") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = tyto::sin(tyto::cast(Tensor::arange(0, 7 * 260, 1, DType::i64), DType::f32)).reshape({7, 260});
  const auto sums = [](const Tensor& y) { return numbers(sum(y, {0})); };
  for (const Tensor& view : {x.T(), flip(x.T(), {0}), broadcast_to(x(0, tyto::all), {7, 260}).T()}) {
    const Tensor w = Tensor::variable(Tensor::zeros({260, 7}));
    assign(w, view);
    // Read first: a lazy sum over what is still to be computed adds it where it comes to lie.
    const Numbers in_order = sums(Tensor::from(w.template to_vector<float>(), {260, 7}));
    CHECK(sums(w) == in_order);
  }
}

BOTH_MODES("a state that a function with gradients assigns a view to holds its elements in order, too") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = tyto::sin(tyto::cast(Tensor::arange(0, 7 * 260, 1, DType::i64), DType::f32)).reshape({7, 260});
  const auto sums = [](const Tensor& y) { return numbers(sum(y, {0})); };
  const Tensor w = Tensor::variable(Tensor::zeros({260, 7}));
  const auto f = [&](const Tensor& y) {
    assign(w, y.T());
    const Numbers in_order = sums(Tensor::from(w.template to_vector<float>(), {260, 7}));
    CHECK(sums(w) == in_order);
    return sum(w * w);
  };
  CHECK(numbers(tyto::grad(f)(x)) == numbers(x * 2));
}

TEST_CASE("value_and_grad leaves states as they were: what is recorded of them later is the same") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w"), x = Tensor::placeholder({2}, DType::f32, "x");
  const auto recorded = [&] { return tyto::Graph({.inputs = {x}, .outputs = {x * w}}, {.passes = "none"}).text(); };
  const std::string before = recorded();
  auto loss = tyto::value_and_grad([&](const Tensor& y) { return sum(w * y); }, {w});
  for (int i = 0; i < 3; ++i) CHECK(numbers(loss(Tensor{1.0, 1.0}).second[0]) == Numbers{1, 1});
  CHECK(recorded() == before);
}

BOTH_MODES("a read before an update never sees the value after it") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0});
  const Tensor before = w * 10;
  assign(w, w + 1);
  const Tensor between = w * 10;
  assign(w, w + 1);
  CHECK(numbers(w) == Numbers{3, 4});
  CHECK(numbers(between) == Numbers{20, 30});
  CHECK(numbers(before) == Numbers{10, 20});
}

BOTH_MODES("a read inside a compiled step sees the assignments before it and none after") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0});
  auto step = tyto::compile([&](Tensor x) {
    const Tensor old = w + 0;
    assign(w, w + x);
    const Tensor middle = w + 0;
    assign(w, w * 10);
    return std::vector<Tensor>{old, middle, w + 0};
  });
  std::vector<Tensor> first = step(Tensor{1.0});
  std::vector<Tensor> second = step(Tensor{1.0});
  CHECK(numbers(first[0]) == Numbers{1});
  CHECK(numbers(first[1]) == Numbers{2});
  CHECK(numbers(first[2]) == Numbers{20});
  CHECK(numbers(second[0]) == Numbers{20});
  CHECK(numbers(second[1]) == Numbers{21});
  CHECK(numbers(second[2]) == Numbers{210});
  CHECK(numbers(w) == Numbers{210});
}

// std::swap exchanges names, which a trace sees once: docs/semantics.md.
BOTH_MODES("the contents of two variables change places in each call of a compiled step") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}), v = Tensor::variable(Tensor{10.0, 20.0});
  auto step = tyto::compile([&](Tensor x) {
    const Tensor old = copy(w);
    assign(w, v);
    assign(v, old);
    return w * x;
  });
  for (int call = 1; call <= 4; ++call) {
    const Tensor product = step(Tensor{3.0, 3.0});
    const bool odd = call % 2 == 1;
    CHECK(numbers(product) == (odd ? Numbers{30, 60} : Numbers{3, 6}));
    CHECK(numbers(w) == (odd ? Numbers{10, 20} : Numbers{1, 2}));
    CHECK(numbers(v) == (odd ? Numbers{1, 2} : Numbers{10, 20}));
  }
}

BOTH_MODES("a training step returns old weight, new weight and loss, in every order, twice") {
  using Tensor = tyto::Tensor<Mode>;
  for (int order = 0; order < 6; ++order) {
    const Tensor w = Tensor::variable(Tensor{4.0});
    auto step = tyto::compile([&](Tensor x) {
      const Tensor snapshot = copy(w);
      const Tensor loss = w * w * x;
      assign(w, w - 0.25 * 2 * w * x);
      std::vector<Tensor> three{snapshot, w + 0, loss};
      if (order % 2 == 1) std::swap(three[0], three[1]);
      if (order / 2 == 1) std::swap(three[1], three[2]);
      if (order / 2 == 2) std::swap(three[0], three[2]);
      return three;
    });
    Numbers first, second;
    for (const Tensor& each : step(Tensor{1.0})) first.push_back(numbers(each)[0]);
    for (const Tensor& each : step(Tensor{1.0})) second.push_back(numbers(each)[0]);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    CHECK(first == Numbers{2, 4, 16});
    CHECK(second == Numbers{1, 2, 4});
  }
}

BOTH_MODES("who holds the old value keeps it while the state moves on") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0, 3.0});
  auto step = tyto::compile([&](Tensor x) { assign(w, w + x); });
  step(Tensor{1.0, 1.0, 1.0});
  const Tensor view = std::as_const(w)(slice(1, 3));
  const Tensor constant = Tensor::constant(w);
  const std::span<const float> seen = w.template data<float>();
  const Numbers read{seen.begin(), seen.end()};
  const Tensor other = Tensor::variable(w);
  for (int i = 0; i < 3; ++i) step(Tensor{10.0, 10.0, 10.0});
  CHECK(numbers(view) == Numbers{3, 4});
  CHECK(numbers(constant) == Numbers{2, 3, 4});
  CHECK(Numbers{seen.begin(), seen.end()} == read);
  CHECK(numbers(other) == Numbers{2, 3, 4});
  CHECK(numbers(w) == Numbers{32, 33, 34});
}

BOTH_MODES("what was recorded of a state and not computed yet has the value from before a compiled step") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0, 3.0});
  auto step = tyto::compile([&](Tensor x) { assign(w, w + x); });
  step(Tensor{1.0, 1.0, 1.0});
  const Tensor doubled = w * 2;
  step(Tensor{10.0, 10.0, 10.0});
  CHECK(numbers(doubled) == Numbers{4, 6, 8});
  CHECK(numbers(w) == Numbers{12, 13, 14});
}

BOTH_MODES("two states exchange their values") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor a = Tensor::variable(Tensor{1.0, 1.0});
  const Tensor b = Tensor::variable(Tensor{2.0, 2.0});
  auto exchange = tyto::compile([&](Tensor x) {
    const Tensor kept = a + 0 * x;
    assign(a, b);
    assign(b, kept);
    return x;
  });
  for (int i = 0; i < 3; ++i) {
    exchange(Tensor{0.0, 0.0});
    CHECK(numbers(a) == Numbers(2, i % 2 == 0 ? 2 : 1));
    CHECK(numbers(b) == Numbers(2, i % 2 == 0 ? 1 : 2));
  }
}

BOTH_MODES("three states go round") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor a = Tensor::persistent(Tensor{1.0});
  const Tensor b = Tensor::persistent(Tensor{2.0});
  const Tensor c = Tensor::persistent(Tensor{3.0});
  auto round = tyto::compile([&](Tensor x) {
    const Tensor first = copy(a), second = copy(b), third = copy(c);
    assign(a, third);
    assign(b, first);
    assign(c, second);
    return x;
  });
  round(Tensor{0.0});
  CHECK(numbers(a) == Numbers{3});
  CHECK(numbers(b) == Numbers{1});
  CHECK(numbers(c) == Numbers{2});
}

BOTH_MODES("a state takes another's value without becoming it") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor a = Tensor::variable(Tensor{1.0});
  const Tensor b = Tensor::variable(Tensor{2.0});
  auto step = tyto::compile([&](Tensor x) {
    assign(a, b);
    assign(b, b + x);
    return a + b;
  });
  CHECK(numbers(step(Tensor{1.0})) == Numbers{5});
  CHECK(numbers(step(Tensor{1.0})) == Numbers{7});
  CHECK(numbers(a) == Numbers{3});
  CHECK(numbers(b) == Numbers{4});
  assign(a, b);
  assign(b, b * 100);
  CHECK(numbers(a) == Numbers{4});
  step(Tensor{1.0});
  CHECK(numbers(a) == Numbers{400});
  CHECK(numbers(b) == Numbers{401});
}

BOTH_MODES("parts of a state are written by value") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor::zeros({2, 2}));
  auto fill = tyto::compile([&](Tensor x) {
    Tensor next = w;
    next(0) = x;
    assign(w, next);
    return next.sum();
  });
  CHECK(numbers(fill(Tensor{1.0, 2.0})) == Numbers{3});
  CHECK(numbers(w) == Numbers{1, 2, 0, 0});
  Tensor shadow = copy(w), handle = w;  // a copy is a tensor like any other, a handle is the variable
  shadow(1) = 5;
  CHECK(numbers(w) == Numbers{1, 2, 0, 0});
  CHECK(numbers(shadow) == Numbers{1, 2, 5, 5});
  handle(1) = 7;
  CHECK(numbers(w) == Numbers{1, 2, 7, 7});
}

BOTH_MODES("assignment casts to the state's type and refuses another shape") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "weights");
  assign(w, Tensor{3, 4});
  CHECK(w.dtype() == DType::f32);
  CHECK(numbers(w) == Numbers{3, 4});
  CHECK_THROWS_WITH_AS(assign(w, Tensor{1.0}), "assign: 'weights' has shape (2,), given (1,)", tyto::ShapeError);
  CHECK_THROWS_AS(assign(w + 1, Tensor{1.0, 2.0}), tyto::GraphError);
  CHECK_THROWS_AS(assign(w, Tensor()), tyto::GraphError);
  CHECK_THROWS_AS(assign(Tensor(), w), tyto::GraphError);
}

BOTH_MODES("an unassigned placeholder is an error that names it") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::placeholder({2}, DType::f32, "pixels");
  const auto read = [&] { return numbers(x * 2 + 1); };
  CHECK_THROWS_WITH_AS(read(), "input 'pixels' of shape (2,) is read before a value was assigned to it",
                       tyto::GraphError);
  assign(x, Tensor{1.0, 2.0});
  CHECK(numbers(x * 2 + 1) == Numbers{3, 5});
}

TEST_CASE("what is computed from a placeholder follows each assignment") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor x = Tensor::placeholder({2});
  const Tensor y = exp(x * 0.0) + x;
  const Tensor z = y * y - x;
  assign(x, Tensor{1.0, 2.0});
  CHECK(numbers(z) == Numbers{3, 7});
  CHECK(numbers(y) == Numbers{2, 3});
  assign(x, Tensor{3.0, 0.0});
  CHECK(numbers(y) == Numbers{4, 1});
  CHECK(numbers(z) == Numbers{13, 1});
}

BOTH_MODES("a state assigned in a loop outside of compiled code is computed once a step") {
  using Tensor = tyto::Tensor<Mode>;
  using Host = tyto::Tensor<tyto::Eager>;
  int calls = 0;
  const Tensor w = Tensor::persistent(Tensor{1.0});
  for (int i = 0; i < 20; ++i) {
    assign(w, tyto::delay<Mode>({1}, DType::f32,
                                [&calls](const std::vector<Host>& in) {
                                  ++calls;
                                  return in[0] + 1.0;
                                },
                                {w}));
    CHECK(numbers(w + 0.5) == Numbers{i + 2.5});
  }
  CHECK(calls == 20);
}

BOTH_MODES("constants are what they were when they were made") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x{1.0, 2.0};
  const Tensor c = Tensor::constant(x);
  x(0) = 10;
  auto f = tyto::compile([&](Tensor y) { return y + c; });
  CHECK(numbers(f(Tensor{0.0, 0.0})) == Numbers{1, 2});
  CHECK_THROWS_AS(assign(c, x), tyto::GraphError);
}

BOTH_MODES("a variable does not write into what it was made from") {
  using Tensor = tyto::Tensor<Mode>;
  const std::vector<float> mine{1, 2};
  const Tensor lent = Tensor::borrow(mine.data(), {2});
  const Tensor w = Tensor::variable(lent);
  auto step = tyto::compile([&](Tensor x) { assign(w, w * x); });
  step(Tensor{5.0, 5.0});
  step(Tensor{5.0, 5.0});
  CHECK(numbers(w) == Numbers{25, 50});
  CHECK(mine == std::vector<float>{1, 2});
  assign(w, lent);
  step(Tensor{2.0, 2.0});
  CHECK(numbers(w) == Numbers{2, 4});
  CHECK(mine == std::vector<float>{1, 2});
}

BOTH_MODES("what is made of a state is its value there, also where nothing is to be done") {
  using Tensor = tyto::Tensor<Mode>;
  const auto check = [](const auto& function) {
    const Tensor w = Tensor::variable(Tensor{{1.0, 2.0}, {3.0, 4.0}});
    Tensor y = function(w);
    assign(w, w * 10);
    CHECK(numbers(y) == Numbers{1, 2, 3, 4});
    y += 1;
    CHECK(numbers(w) == Numbers{10, 20, 30, 40});
  };
  using X = const Tensor&;
  check([](X w) { return reshape(w, {2, 2}); });
  check([](X w) { return flatten(w, 1); });
  check([](X w) { return squeeze(w); });
  check([](X w) { return expand_dims(w, tyto::Axes(tyto::IntList{})); });
  check([](X w) { return broadcast_to(w, {2, 2}); });
  check([](X w) { return transpose(w, {0, 1}); });
  check([](X w) { return swapaxes(w, 1, 1); });
  check([](X w) { return moveaxis(w, 0, 0); });
  check([](X w) { return narrow(w, 0, 0, 2); });
  check([](X w) { return atleast_2d(w); });
  check([](X w) { return rot90(w, 4); });
  check([](X w) { return broadcast_arrays(std::vector<Tensor>{w})[0]; });
  check([](X w) { return array_split(w, 1)[0]; });
  check([](X w) { return put(w, Tensor::zeros({0}, DType::i64), 1); });
  check([](X w) { return tyto::fft::fftshift(w, tyto::Axes(tyto::IntList{})); });
  const Tensor v = Tensor::variable(Tensor{1.0, 2.0, 3.0});
  auto before = tyto::compile([&](Tensor x) {
    const Tensor old = ravel(v);
    assign(v, x);
    return old;
  });
  CHECK(numbers(before(Tensor{7.0, 8.0, 9.0})) == Numbers{1, 2, 3});
  CHECK(numbers(before(Tensor{0.0, 0.0, 0.0})) == Numbers{7, 8, 9});
}

TEST_CASE("a number is assigned through a mask to a value of a state of any mode") {
  using Any = tyto::Tensor<tyto::Any>;
  using Lazy = tyto::Tensor<tyto::Lazy>;
  const Any state = Any::variable(Any{1.0, 2.0, 0.0});
  assign(Lazy(state.value()), Lazy{2.0, 3.0, 0.0} * 2);
  Lazy y(state.value());
  y(y > 1) = 5;
  CHECK(numbers(y) == Numbers{5, 5, 0});
}
