// SPDX-License-Identifier: MIT
// Lists as users of NumPy and PyTorch write them: printed gradients and models, percentiles, files and batches.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/message.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using tyto_test::message_of;
using tyto_test::Numbers;
using tyto_test::numbers;
using tyto_test::printed;

BOTH_MODES("gradients with respect to parameters are a list, which prints") {
  using T = Tensor<Mode>;
  const T w = T::variable(T{{1.0, 2.0}, {3.0, 4.0}}, "w"), b = T::variable(5.0, "b");
  const auto loss = [&](const T& x) { return sum(matmul(x, w)) + 3.0 * b; };
  const std::vector<T> gradients = grad(loss, std::vector{w, b})(T{{1.0, 2.0}});
  CHECK(numbers(gradients[0]) == Numbers{1, 1, 2, 2});
  CHECK(numbers(gradients[1]) == Numbers{3});
  CHECK(printed(gradients) == "[[[1. 1.]\n  [2. 2.]],\n 3.0]");
  CHECK(printed(std::vector<T>()) == "[]");
  CHECK(printed(std::vector<T>{T(), T{{{1, 2}}, {{3, 4}}}}) == "[(no tensor),\n [[[1 2]]\n\n  [[3 4]]]]");
}

BOTH_MODES("vmap takes one axis for all arguments") {
  using T = Tensor<Mode>;
  const T x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, y{{1.0, 1.0, 1.0}, {0.0, 0.0, 2.0}};
  const auto product = [](const T& a, const T& b) { return sum(a * b); };
  CHECK(numbers(vmap(product, 1)(x, y)) == Numbers{1, 2, 15});
  CHECK(numbers(vmap(product, -1)(x, y)) == Numbers{1, 2, 15});
  CHECK(numbers(vmap(product, 0)(x, y)) == Numbers{6, 12});
}

BOTH_MODES("vmap takes a compiled function, within another and beside a gradient too") {
  using T = Tensor<Mode>;
  const T x{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
  auto f = compile([](T row, T scale) { return sum(square(row)) * scale; });
  CHECK(numbers(f(x[0], T(2.0))) == Numbers{10});  // traced before, and on its own
  CHECK(numbers(vmap(f, {0, std::nullopt})(x, T(2.0))) == Numbers{10, 50, 122});
  CHECK(numbers(compile([&](T all) { return vmap(f, {0, std::nullopt})(all, T(1.0)); })(x)) == Numbers{5, 25, 61});
  CHECK(numbers(vmap(grad([&](T row) { return f(row, T(1.0)); }))(x)) == Numbers{2, 4, 6, 8, 10, 12});
  CHECK(numbers(f(x[1], T(1.0))) == Numbers{25});  // and is called as ever afterwards
  CHECK_THROWS_AS(vmap(f)(x, T(2.0)), ShapeError);
  CHECK(numbers(f(x[2], T(1.0))) == Numbers{61});
}

BOTH_MODES("several percentiles lie along a first axis") {
  using T = Tensor<Mode>;
  const T x{{1.0, 2.0}, {3.0, 5.0}};
  CHECK(numbers(percentile(x, {25, 50, 100})) == Numbers{1.75, 2.5, 5});
  CHECK(percentile(x, {25, 50, 100}, 1).shape() == Shape{3, 2});
  CHECK(numbers(percentile(x, {25})) == Numbers{1.75});
  CHECK(percentile(x, {25}).shape() == Shape{1});
  CHECK(percentile(x, 25).shape() == Shape{});
  CHECK(percentile(x, {25}, 1).shape() == Shape{1, 2});
  CHECK(numbers(quantile(x, {0.25})) == Numbers{1.75});
  CHECK(quantile(x, {0.25}).shape() == Shape{1});
  CHECK_THROWS_AS(percentile(x, {}), ValueError);
  CHECK_THROWS_AS(quantile(x, {}), ValueError);
}

BOTH_MODES("files take tensors in braces") {
  using T = Tensor<Mode>;
  const tyto::testing::TemporaryFolder folder;
  const T x{{1.0, 2.0}, {3.0, 4.0}}, count{1, 2, 3};
  for (const std::string name : {"both.npz", "both.safetensors"}) {
    const std::string path = folder / name;
    if (name == "both.npz") write_npz(path, {{"x", x}, {"count", count}});
    else write_safetensors(path, {{"x", x}, {"count", count}});
    const auto read = name == "both.npz" ? read_npz<T>(path) : read_safetensors<T>(path);
    CHECK(read.size() == 2);
    CHECK(numbers(read["x"]) == Numbers{1, 2, 3, 4});
    CHECK(read["count"].dtype() == DType::i64);
  }
  const std::string index = folder / "shards.safetensors.index.json";
  write_safetensors(index, {{"x", x}, {"count", count}}, 8);
  CHECK(numbers(read_safetensors<T>(index)["x"]) == Numbers{1, 2, 3, 4});
  CHECK(message_of<IoError>([&] { read_npy<T>(folder / "both.npz"); }).ends_with("; read_npz reads archives"));
}

TEST_CASE("host_array holds elements in a shape that they fill") {
  const HostArray array = host_array(std::vector<float>{1.5F, 2, 3, 4}, {2, 2});
  CHECK(array.dtype == DType::f32);
  CHECK(array.shape == Shape{2, 2});
  CHECK(to_tensor<Tensor<Eager>>(array).to_vector<float>() == std::vector<float>{1.5F, 2, 3, 4});
  CHECK(numbers(to_tensor<Tensor<Eager>>(host_array(std::vector<bool>{true, false, true}, {3}))) == Numbers{1, 0, 1});
  CHECK(host_array(std::vector<bool>{true}, {1}).dtype == DType::boolean);
  CHECK(message_of<ShapeError>([] {
          host_array(std::vector<std::int64_t>{1, 2, 3}, {2, 2});
        }) == "host_array: 3 elements do not fill shape (2,2) of 4");
}

TEST_CASE("a model prints its layers and the shapes of their states") {
  const nn::Sequential model{nn::Conv2d({.in = 1, .out = 8}), nn::ReLU(), nn::Linear({.in = 8, .out = 3})};
  CHECK(printed(model) ==
        "Sequential\n"
        "  0 Conv2d  weight (3,3,1,8), bias (8,)\n"
        "  1 ReLU\n"
        "  2 Linear  weight (8,3), bias (3,)\n"
        "107 parameters\n");
}

namespace {

/// A model of two inputs.
template <class T>
struct Scorer : nn::Module {
  nn::Linear left{{.in = 8, .out = 4}}, right{{.in = 8, .out = 4}};
  nn::Dropout dropout{0.5};
  nn::Members members() const override { return {{"left", left}, {"right", right}, {"dropout", dropout}}; }
  T operator()(const T& a, const T& b, nn::Phase phase = nn::current_phase()) const {
    return nn::as_call(*this, phase, [&] { return dropout(left(a) * right(b)); });
  }
};

}  // namespace

BOTH_MODES("layers called within a module's as_call have its phase and their paths") {
  using T = Tensor<Mode>;
  seed(1);
  const Scorer<T> model;
  const T x = T::ones({64, 8});
  CHECK(numbers(sum(model(x, x) == 0)) == Numbers{0});
  const double dropped = sum(model(x, x, nn::training) == 0).template item<double>();
  CHECK(dropped > 64);
  CHECK(dropped < 192);
  CHECK(message_of<ShapeError>([&] {
          model(x, T::ones({64, 7}));
        }) == "Linear: the last axis of x (64,7) must be 8 (in right)");
}

namespace {

/// Forgets a member.
template <class T>
struct ForgetfulModule : nn::Module {
  nn::Linear left{{.in = 8, .out = 4}}, right{{.in = 8, .out = 4}};
  nn::Members members() const override { return {{"left", left}}; }
  T operator()(const T& x) const {
    return nn::as_call(*this, nn::inference, [&] { return left(x) * right(x); });
  }
};

/// Calls a model that it lists, or one that it does not.
template <class T>
struct Outer : nn::Module {
  Scorer<T> scorer, other;
  bool forgets = false;
  nn::Members members() const override { return {{"scorer", scorer}}; }
  T operator()(const T& x) const {
    return nn::as_call(*this, nn::inference, [&] { return forgets ? other(x, x) : scorer(x, x); });
  }
};

}  // namespace

BOTH_MODES("the first call by as_call tells of layers that members() does not list") {
  using T = Tensor<Mode>;
  const std::string rest =
      " that members() does not list, so its parameters would be neither trained nor saved; list it, {\"name\", "
      "layer}, "
      "or freeze() it";
  const T x = T::ones({2, 8});
  const ForgetfulModule<T> forgetful;
  for (int i = 0; i < 2; ++i) {  // a call that failed was not the first
    CHECK(message_of<ValueError>([&] { forgetful(x); }) == "ForgetfulModule: as_call calls a Linear" + rest);
  }
  auto step = compile([&](const T& at) {
    return value_and_grad([&](const T& from) { return sum(forgetful(from)); }, forgetful.parameters())(at).first;
  });
  CHECK(
      tyto_test::contains(message_of<ValueError>([&] { step(x); }), "ForgetfulModule: as_call calls a Linear" + rest));

  Outer<T> outer;
  CHECK(outer(x).shape() == Shape{2, 4});
  Outer<T> forgets;
  forgets.forgets = true;
  CHECK(message_of<ValueError>([&] { forgets(x); }) == "Outer: as_call calls a Scorer" + rest);
  CHECK(outer(x).shape() == Shape{2, 4});
}

BOTH_MODES("as_call takes functions that yield nothing, or a reference") {
  using T = Tensor<Mode>;
  const Scorer<T> model;
  T kept = T::ones(2);
  nn::as_call(model, nn::training, [&] { kept = kept + 1; });
  const T copied = nn::as_call(model, nn::training, [&]() -> const T& { return kept; });
  CHECK(numbers(copied) == Numbers{2, 2});
}

TEST_CASE("a page names parameters by their path, and fused steps by their members") {
  using T = Tensor<Lazy>;
  const nn::Sequential model{nn::Linear({.in = 4, .out = 8}), nn::Linear({.in = 8, .out = 2})};
  nn::Descent adam = nn::adam();
  auto step = compile([&](const T& x) {
    auto [loss, gradients] = value_and_grad([&](const T& at) { return sum(exp(T(model(at)))); }, model.parameters())(x);
    adam.update(model.parameters(), gradients);
    return loss;
  });
  step(T::ones({3, 4}));
  const std::string page = step.html();
  CHECK(tyto_test::contains(page, "\"name\":\"0.weight\""));
  CHECK(tyto_test::contains(page, "\"name\":\"1.bias\""));
  CHECK(tyto_test::contains(page, "\"name\":\"adam mean\""));
  CHECK_FALSE(tyto_test::contains(page, "\"name\":\"weight\""));
  CHECK_FALSE(tyto_test::contains(page, "\"name\":\"fused\""));
}

TEST_CASE("a page gives variables that no layer reads their own names") {
  using T = Tensor<Lazy>;
  const T w = T::variable(T::ones({4, 3}), "w"), v = T::variable(T::ones({3, 2}), "v");
  nn::Descent adam = nn::adam();
  auto step = compile([&](const T& x) {
    const auto objective = [&](const T& at) { return sum(exp(matmul(exp(matmul(at, w)), v))); };
    auto [loss, gradients] = value_and_grad(objective, std::vector{w, v})(x);
    const NameScope named("train");
    adam.update(std::vector{w, v}, gradients);
    return loss;
  });
  step(T::full({3, 4}, 0.1));
  const std::string page = step.html();
  for (const std::string name : {"w", "v", "adam mean", "adam count"}) {
    CHECK(tyto_test::contains(page, "\"name\":\"" + name + "\""));
    CHECK_FALSE(tyto_test::contains(page, "." + name + "\""));
  }
}

namespace {

/// Its member's name begins as that of the parameter in it.
struct Short : nn::Layer {
  nn::Linear w{{.in = 4, .out = 2}};
  Tensor<Any> forward(const Tensor<Any>& x, nn::Phase) const override { return w(x); }
  nn::Members members() const override { return {{"w", w}}; }
};

}  // namespace

TEST_CASE("a page gives a parameter the path of a member whose name it begins with") {
  using T = Tensor<Lazy>;
  const Short model;
  auto call = compile([&](const T& x) { return model(x); });
  call(T::ones({3, 4}));
  CHECK(tyto_test::contains(call.html(), "\"name\":\"w.weight\""));
}

TEST_CASE_TEMPLATE("truths come as a vector, and parameters in braces", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T mask(std::vector<bool>{true, false, true});
  CHECK(mask.dtype() == DType::boolean);
  CHECK(where(mask, T{1.0, 2.0, 3.0}, -1.0).template to_vector<float>() == std::vector<float>{1, -1, 3});
  CHECK(T(std::vector<bool>{}).shape() == Shape{0});
  const T w = T::variable(T{1.0, 2.0}, "w"), b = T::variable(T{3.0}, "b");
  nn::Descent descent = nn::sgd({.rate = 0.5});
  auto step = compile([&](const T& x) {
    auto [loss, gradients] = value_and_grad([&](const T& v) { return sum(w * v + b); }, {w, b})(x);
    descent.update({w, b}, gradients);
    return loss;
  });
  CHECK(step(T{4.0, 6.0}).template item<float>() == 22);
  CHECK(w.template to_vector<float>() == std::vector<float>{-1, -1});
  CHECK(b.template to_vector<float>() == std::vector<float>{2});
}

TEST_CASE_TEMPLATE("a forgotten Flatten is named where it fits", M, Eager, Lazy) {
  using T = Tensor<M>;
  const nn::Linear linear({.in = 24, .out = 2});
  CHECK(message_of([&] {
          linear(T::ones({5, 2, 3, 4}));
        }) == "Linear: the last axis of x (5,2,3,4) must be 24; nn::Flatten() before it joins all axes but the first");
  CHECK(message_of([&] { linear(T::ones({5, 2, 3, 3})); }) == "Linear: the last axis of x (5,2,3,3) must be 24");
}
