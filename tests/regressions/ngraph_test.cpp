// SPDX-License-Identifier: MIT
// Regressions that the test-suite of Nervana's graph covers and that apply here: state and its order, computations that
// share it, views that change nothing, derivatives of slices and softmax, and tensors without elements.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <tyto/io.hpp>
#include <tyto/nn/checkpoint.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

using tyto::all;
using tyto::DType;
using tyto::slice;
using Lazy = tyto::Tensor<tyto::Lazy>;
using tyto_test::numbers;
using tyto_test::Numbers;

}  // namespace

BOTH_MODES("ngraph: state is read, written, used and modified in the order of the lines") {
  using T = tyto::Tensor<Mode>;
  const T x = T::persistent(T::zeros({}));
  auto f = tyto::compile([&](T unit) {
    const T first = x + x;
    assign(x, 2.0 * unit);
    const T second = x + x;
    return std::vector<T>{first, second, first + 0.0};
  });
  std::vector<T> results = f(T::ones({}));
  CHECK(numbers(results[0]) == Numbers{0});
  CHECK(numbers(results[1]) == Numbers{4});
  CHECK(numbers(results[2]) == Numbers{0});
  CHECK(numbers(x) == Numbers{2});
}

BOTH_MODES("ngraph: a state is filled whole and in part") {
  using T = tyto::Tensor<Mode>;
  const T x = T::persistent(T::ones({2, 3}));
  auto fill = tyto::compile([&](T v) {
    assign(x, T::zeros({2, 3}) + v);
    T part = x;
    part(all, 1) = -1;
    assign(x, part);
  });
  fill(T::full({}, 4.0));
  CHECK(numbers(x) == Numbers{4, -1, 4, 4, -1, 4});
}

BOTH_MODES("ngraph: an assignment may reduce the state that it writes") {
  using T = tyto::Tensor<Mode>;
  const T x = T::persistent(T{1.0, 2.0, 3.0});
  auto f = tyto::compile([&](T unit) {
    assign(x, x * x.sum() * unit);
    return x.max();
  });
  CHECK(numbers(f(T::ones({}))) == Numbers{18});
  CHECK(numbers(f(T::ones({}))) == Numbers{648});
  CHECK(numbers(x) == Numbers{216, 432, 648});
}

BOTH_MODES("ngraph: a returned state that is also updated shows the value of its line") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(T{5.0});
  auto f = tyto::compile([&](T unit) {
    const T snapshot = copy(w);
    assign(w, w - unit);
    return std::pair(snapshot, T(w));
  });
  const auto [old, now] = f(T{1.0});
  CHECK(numbers(old) == Numbers{5});
  CHECK(numbers(now) == Numbers{4});
}

BOTH_MODES("ngraph: an initial value is set once, however many computations use the state") {
  using T = tyto::Tensor<Mode>;
  const T w = T::variable(T{1.0});
  auto first = tyto::compile([&](T v) { assign(w, w + v); });
  first(T{10.0});
  auto second = tyto::compile([&](T v) { return w * v; });
  CHECK(numbers(second(T{1.0})) == Numbers{11});
  first(T{10.0});
  CHECK(numbers(second(T{1.0})) == Numbers{21});
}

BOTH_MODES("ngraph: weights saved and restored are the weights") {
  using T = tyto::Tensor<Mode>;
  const tyto::testing::TemporaryFolder folder;
  const std::string path = folder / "weights.npz";
  const T w = T::variable(T{1.5, -2.5});
  tyto::nn::Checkpoint checkpoint;
  checkpoint.add("w", tyto::NamedList<tyto::Tensor<tyto::Any>>{{"w", w.value()}});
  checkpoint.save(path);
  assign(w, T{0.0, 0.0});
  checkpoint.load(path);
  CHECK(numbers(w) == Numbers{1.5, -2.5});
}

TEST_CASE("ngraph: a computation run twice gives the same bits") {
  const Lazy x = Lazy::placeholder({50, 50});
  const Lazy y = softmax(matmul(x, x.T()), 1).sum(0) + var(x, 1);
  tyto::Graph g{{.inputs = {x}, .outputs = {y}}};
  g.set(x, Lazy::linspace(-1, 1, 2500).reshape({50, 50}));
  g.run();
  const Numbers first = numbers(g[y]);
  g.run();
  CHECK(numbers(g[y]) == first);
}

TEST_CASE("ngraph: inputs that are wrong, missing or no placeholders are refused") {
  const Lazy x = Lazy::placeholder({2}, DType::f32, "x"), y = Lazy::placeholder({2}, DType::f32, "y");
  tyto::Graph g{{.inputs = {x}, .outputs = {x + y}}};
  g.set(x, Lazy{1.0, 2.0});
  CHECK_THROWS_WITH_AS(g.run(), "input 'y' of shape (2,) was given no value", tyto::GraphError);
  CHECK_THROWS_AS((tyto::Graph{{.inputs = {x + y}}}), tyto::GraphError);
  CHECK_THROWS_AS(g.set(x + y, x), tyto::GraphError);
}

TEST_CASE("ngraph: a computation of nothing runs") {
  tyto::Graph g{tyto::GraphSpec{}};
  g.run();
  g.run();
  CHECK(g.variables().empty());
  CHECK(g.report().arena_bytes == 0);
}

BOTH_MODES("ngraph: overlapping slices of one tensor add up in its gradient") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](T v) {
    return v(slice(0, 3)).sum() + (v(slice(1, 4)) * 10.0).sum() + (v(slice({}, {}, -2)) * 100.0).sum();
  };
  CHECK(numbers(tyto::grad(f)(T{1.0, 1.0, 1.0, 1.0})) == Numbers{1, 111, 11, 110});
}

BOTH_MODES("ngraph: views that change nothing change neither value nor gradient") {
  using T = tyto::Tensor<Mode>;
  const auto idle = [](T v) {
    v = broadcast_to(v, v.shape());
    v = v(all, slice({}, {}));
    v = tyto::transpose(v, {0, 1}).T().T();
    v = v.reshape({-1, 3}).astype(DType::f32);
    return flip(flip(v));
  };
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  CHECK(numbers(idle(x)) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(numbers(tyto::grad([&](T v) { return (idle(v) * x).sum(); })(x)) == Numbers{1, 2, 3, 4, 5, 6});
}

BOTH_MODES("ngraph: a number stretched to any rank is that number, and its gradient counts") {
  using T = tyto::Tensor<Mode>;
  const auto f = [](T v) { return (broadcast_to(v, {2, 1, 3}) * broadcast_to(v, {4, 1})).sum(); };
  CHECK(numbers(broadcast_to(T::full({}, 7.0), {1, 2})) == Numbers{7, 7});
  CHECK(numbers(tyto::grad(f)(T::full({}, 3.0))) == Numbers{2 * 3 * 24});
}

BOTH_MODES("ngraph: padding, its gradient, and padding by nothing") {
  using T = tyto::Tensor<Mode>;
  const T x{{1.0, 2.0}};
  CHECK(numbers(pad(x, {1, 0}, {0, 2})) == Numbers{0, 0, 0, 0, 1, 2, 0, 0});
  CHECK(numbers(pad(x, {0, 0}, {0, 0})) == Numbers{1, 2});
  CHECK(numbers(tyto::grad([](T v) {
          return (pad(v, {0, 1}, {0, 1}) * T{1.0, 2.0, 3.0, 4.0}).sum();
        })(x)) == Numbers{2, 3});
}

BOTH_MODES("ngraph: parts of different lengths are joined") {
  using T = tyto::Tensor<Mode>;
  const T a{{1.0, 2.0}}, b{{3.0, 4.0}, {5.0, 6.0}};
  CHECK(numbers(concat(std::vector<T>{a, b, a}, 0)) == Numbers{1, 2, 3, 4, 5, 6, 1, 2});
  CHECK_THROWS_AS(concat(std::vector<T>{a, b}, 1), tyto::ShapeError);
}

BOTH_MODES("ngraph: what is not connected has a gradient of zero, and what is no number needs a cotangent") {
  using T = tyto::Tensor<Mode>;
  CHECK(numbers(tyto::value_and_grad([](T, T b) { return b.sum(); }, {0})(T{1.0, 2.0}, T{3.0}).second[0]) ==
        Numbers{0, 0});
  CHECK_THROWS_AS(tyto::grad([](T v) { return v; })(T{1.0, 2.0}), tyto::ShapeError);
}

BOTH_MODES("ngraph: the derivative of softmax, and cross-entropy of large numbers") {
  using T = tyto::Tensor<Mode>;
  const Numbers s{1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0))};
  const Numbers gradient = numbers(tyto::grad([](T v) { return softmax(v, 0)(1); })(T{0.0, 1.0}.astype(DType::f64)));
  CHECK(gradient[0] == doctest::Approx(-s[0] * s[1]));
  CHECK(gradient[1] == doctest::Approx(s[0] * s[1]));
  const T logits{{1000.0, -1000.0, 0.0}};
  CHECK(numbers(cross_entropy(logits, T{1})) == Numbers{2000});
  CHECK(numbers(tyto::grad([](T v) { return cross_entropy(v, T{1}); })(logits)) == Numbers{1, -1, 0});
}

BOTH_MODES("ngraph: the gradient of a product's sum") {
  using T = tyto::Tensor<Mode>;
  const T x{{1.0, 2.0}, {3.0, 4.0}}, y{{5.0}, {6.0}};
  const auto gradients = tyto::value_and_grad([](T a, T b) { return matmul(a, b).sum(); }, {0, 1})(x, y).second;
  CHECK(numbers(gradients[0]) == Numbers{5, 6, 5, 6});
  CHECK(numbers(gradients[1]) == Numbers{4, 6});
}

BOTH_MODES("ngraph: tensors without elements pass through every kind of operator") {
  using T = tyto::Tensor<Mode>;
  const T none = T::zeros({0, 3});
  CHECK(exp(none).shape() == tyto::Shape{0, 3});
  CHECK((none + T::ones({3})).shape() == tyto::Shape{0, 3});
  CHECK(where(none > 0.0, none, 1.0).shape() == tyto::Shape{0, 3});
  CHECK(numbers(prod(none, 0)) == Numbers{1, 1, 1});
  CHECK(numbers(any(none)) == Numbers{0});
  CHECK(numbers(all(none)) == Numbers{1});
  CHECK_THROWS_AS(none.max(0), tyto::ShapeError);
  CHECK(none.max(1).shape() == tyto::Shape{0});
  CHECK(numbers(softmax(none, 1)).empty());
  CHECK(numbers(cumsum(none, 0)).empty());
  CHECK(numbers(sort(none, 0)).empty());
  CHECK(numbers(matmul(T::zeros({2, 0}), T::zeros({0, 2}))) == Numbers{0, 0, 0, 0});
  CHECK(numbers(none(all, T{0, 2})).empty());
  CHECK(numbers(pad(none, {1, 0}, {0, 0})) == Numbers{0, 0, 0});
  CHECK(numbers(tile(none, {3, 2})).empty());
  CHECK(numbers(flip(none, 0)).empty());
  CHECK(numbers(concat(std::vector<T>{none, none}, 0)).empty());
  CHECK(numbers(T::uniform({0})).empty());
  CHECK(numbers(one_hot(T::zeros({0}, DType::i64), 3)).empty());
  CHECK(numbers(tyto::grad([](T v) { return (exp(v) * v).sum(); })(none)).empty());
  CHECK(numbers(conv2d(T::zeros({0, 4, 4, 1}), T::ones({2, 2, 1, 3}))).empty());
  CHECK(numbers(max_pool(T::zeros({0, 4, 4, 1}), 2)).empty());
  CHECK(numbers(set(none, {slice(0, 0)}, 1.0)).empty());
  CHECK(std::isnan(numbers(none.mean())[0]));
}
