// SPDX-License-Identifier: MIT
// Gradients of functions: closed forms, nesting, states, compiled functions, and what is refused; in both modes.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::grad;
using tyto::hessian;
using tyto::jacobian;
using tyto::slice;
using tyto::value_and_grad;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

template <class Mode>
tyto::Tensor<Mode> f64(const Numbers& elements) {
  return tyto::Tensor<Mode>::from(elements, {static_cast<std::int64_t>(elements.size())});
}

void check_close(const Numbers& found, const Numbers& expected, double tolerance = 1e-12) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(tolerance));
  }
}

}  // namespace

BOTH_MODES("a gradient is the closed form") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = f64<Mode>({0.5, -1.0, 2.0});
  check_close(numbers(grad([](Tensor v) { return (v * v * v).sum(); })(x)), {0.75, 3.0, 12.0});
  check_close(numbers(grad([](Tensor v) { return exp(v).sum(); })(x)), {std::exp(0.5), std::exp(-1.0), std::exp(2.0)});
  // d log(sum exp) = softmax
  const double total = std::exp(0.5) + std::exp(-1.0) + std::exp(2.0);
  check_close(numbers(grad([](Tensor v) { return logsumexp(v); })(x)),
              {std::exp(0.5) / total, std::exp(-1.0) / total, std::exp(2.0) / total});
}

BOTH_MODES("value and gradients come together, for the arguments that are named") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = f64<Mode>({1, 2}), y = f64<Mode>({3, 5});
  const auto f = [](Tensor a, Tensor b) { return (a * b * b).sum(); };
  const auto [value, gradients] = value_and_grad(f, {1, 0})(x, y);
  CHECK(numbers(value) == Numbers{59});
  CHECK(numbers(gradients[0]) == Numbers{6, 20});
  CHECK(numbers(gradients[1]) == Numbers{9, 25});
  const auto [same, twice] = value_and_grad(f, {0, 0})(x, y);
  CHECK(numbers(twice[0]) == Numbers{9, 25});
  CHECK(numbers(twice[1]) == Numbers{9, 25});
  CHECK_THROWS_AS(value_and_grad(f, {2})(x, y), tyto::IndexError);
}

BOTH_MODES("what a function gives beside its loss comes along") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) { return std::tuple((v * v).sum(), v + 1, v.sum()); };
  const auto [values, gradients] = value_and_grad(f)(f64<Mode>({1, 2}));
  CHECK(numbers(std::get<0>(values)) == Numbers{5});
  CHECK(numbers(std::get<1>(values)) == Numbers{2, 3});
  CHECK(numbers(std::get<2>(values)) == Numbers{3});
  CHECK(numbers(gradients[0]) == Numbers{2, 4});
}

BOTH_MODES("an argument that does not matter has a gradient of zeros in its shape and type") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor a, Tensor) { return a.sum(); };
  const auto [value, gradients] = value_and_grad(f, {0, 1})(f64<Mode>({1, 2}), Tensor::ones({2, 3}));
  CHECK(gradients[1].shape() == tyto::Shape{2, 3});
  CHECK(gradients[1].dtype() == DType::f32);
  CHECK(numbers(gradients[1]) == Numbers(6, 0));
  auto cut = grad([](Tensor v) { return (floor(v) + stop_gradient(v) * 2.0).sum() + 0.0 * v.sum(); });
  CHECK(numbers(cut(f64<Mode>({1.5, 2.5}))) == Numbers{0, 0});
  auto constant = grad([](Tensor) { return Tensor::ones({}, DType::f64); });
  CHECK(numbers(constant(f64<Mode>({1.5, 2.5}))) == Numbers{0, 0});
}

BOTH_MODES("the same tensor used several times adds its gradients up") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) {
    const Tensor a = v * v;
    return (a + a * v + a + v).sum();  // 2 v^2 + v^3 + v
  };
  CHECK(numbers(grad(f)(f64<Mode>({1, 2, -3}))) == Numbers{8, 21, 16});
  // Both arguments the same tensor: the gradient is that of the first argument alone.
  const Tensor x = f64<Mode>({3});
  CHECK(numbers(grad([](Tensor a, Tensor b) { return (a * a * b).sum(); })(x, x)) == Numbers{18});
}

BOTH_MODES("gradients nest") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) { return (v * v * v * v).sum(); };
  const Tensor x = f64<Mode>({2});
  auto first = grad(f);
  auto second = grad([first](Tensor v) mutable { return first(v).sum(); });
  auto third = grad([second](Tensor v) mutable { return second(v).sum(); });
  auto fourth = grad([third](Tensor v) mutable { return third(v).sum(); });
  CHECK(numbers(grad(f)(x)) == Numbers{32});
  CHECK(numbers(grad([&](Tensor v) { return grad(f)(v).sum(); })(x)) == Numbers{48});
  CHECK(numbers(third(x)) == Numbers{48});
  CHECK(numbers(fourth(x)) == Numbers{24});
}

BOTH_MODES("an inner gradient is a function of what is around it") {
  using Tensor = tyto::Tensor<Mode>;
  // d/dx [ x * d/dy (x y^2) at y = 3 ] = d/dx [ 6 x^2 ] = 12 x; an inner and an outer perturbation must not mix.
  auto outer = grad([](Tensor x) {
    const auto inner = grad([x](Tensor y) { return (x * y * y).sum(); })(f64<Mode>({3}));
    return (x * inner).sum();
  });
  CHECK(numbers(outer(f64<Mode>({5}))) == Numbers{60});
  // The classical trap: d/dx (x * d/dy (x + y)) = 1.
  auto trap = grad([](Tensor x) { return (x * grad([x](Tensor y) { return (x + y).sum(); })(f64<Mode>({1}))).sum(); });
  CHECK(numbers(trap(f64<Mode>({1}))) == Numbers{1});
}

BOTH_MODES("a jacobian has the rows of the result and the columns of the argument") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) {
    const Tensor x = v(0), y = v(1);
    return stack(std::vector<Tensor>{x * y, sin(x), y * y * y}, 0);
  };
  const Tensor j = jacobian(f)(f64<Mode>({0.5, 2.0}));
  CHECK(j.shape() == tyto::Shape{3, 2});
  check_close(numbers(j), {2.0, 0.5, std::cos(0.5), 0.0, 0.0, 12.0});
  const Tensor m = jacobian([](Tensor v) { return matmul(v, v); })(f64<Mode>({1, 2, 3, 4}).reshape({2, 2}));
  CHECK(m.shape() == tyto::Shape{2, 2, 2, 2});
  // d (X X)_ij / d X_kl = [i == k] X_lj + X_ik [l == j]
  const double x[2][2] = {{1, 2}, {3, 4}};
  Numbers expected;
  for (int i = 0; i < 2; ++i)
    for (int jj = 0; jj < 2; ++jj)
      for (int k = 0; k < 2; ++k)
        for (int l = 0; l < 2; ++l) expected.push_back((i == k ? x[l][jj] : 0) + (l == jj ? x[i][k] : 0));
  CHECK(numbers(m) == expected);
  CHECK(jacobian([](Tensor v) { return std::as_const(v)(slice(0, 0)); })(f64<Mode>({1, 2})).shape() ==
        tyto::Shape{0, 2});
}

BOTH_MODES("a hessian is symmetric and is the jacobian of the gradient") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) {
    return std::as_const(v)(0) * std::as_const(v)(0) * std::as_const(v)(1) + exp(std::as_const(v)(1));
  };
  const Tensor h = hessian(f)(f64<Mode>({3, 0.5}));
  check_close(numbers(h), {1.0, 6.0, 6.0, std::exp(0.5)});
  // A quadratic form: the hessian of x'Ax is A + A'.
  const Tensor a = f64<Mode>({1, 2, 3, 4}).reshape({2, 2});
  const Tensor q = hessian([a](Tensor v) { return matmul(v, matmul(a, v)); })(f64<Mode>({0.3, -0.7}));
  check_close(numbers(q), {2, 5, 5, 8});
}

BOTH_MODES("a product of hessian and vector is the gradient of a product") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) { return (v * v * v).sum() + (v * flip(v)).sum(); };
  const Tensor x = f64<Mode>({1, 2, 3}), direction = f64<Mode>({1, -1, 2});
  auto product = grad([&](Tensor v) { return (grad(f)(v) * direction).sum(); });
  // Hessian: diag(6 x) + 2 * antidiagonal
  CHECK(numbers(product(x)) == Numbers{6 + 4, -12 - 2, 36 + 2});
  const auto [gradient, along] = jvp([&](const std::vector<Tensor>& in) { return grad(f)(in[0]); },
                                     std::vector<Tensor>{x}, std::vector<Tensor>{direction});
  CHECK(numbers(along) == Numbers{10, -14, 38});
  CHECK(numbers(gradient) == numbers(grad(f)(x)));
}

BOTH_MODES("vjp and jvp are each other's transpose") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](const std::vector<Tensor>& in) { return matmul(tanh(in[0]), in[1]) * in[1].sum(); };
  tyto::seed(4);
  const std::vector<Tensor> at{Tensor::normal({2, 3}, {.dtype = DType::f64}),
                               Tensor::normal({3, 2}, {.dtype = DType::f64})};
  const std::vector<Tensor> tangents{Tensor::normal({2, 3}, {.dtype = DType::f64}),
                                     Tensor::normal({3, 2}, {.dtype = DType::f64})};
  const Tensor cotangent = Tensor::normal({2, 2}, {.dtype = DType::f64});
  const auto [value, pulled] = vjp(f, at, cotangent);
  const auto [again, pushed] = jvp(f, at, tangents);
  CHECK(numbers(value) == numbers(again));
  const double left = (pushed * cotangent).sum().template item<double>();
  const double right = ((pulled[0] * tangents[0]).sum() + (pulled[1] * tangents[1]).sum()).template item<double>();
  CHECK(left == doctest::Approx(right).epsilon(1e-12));
  CHECK_THROWS_AS(vjp(f, at, Tensor::ones({3})), tyto::ShapeError);
  CHECK_THROWS_AS(jvp(f, at, std::vector<Tensor>{tangents[0]}), tyto::GraphError);
  CHECK_THROWS_AS(jvp(f, at, std::vector<Tensor>{tangents[1], tangents[0]}), tyto::ShapeError);
}

BOTH_MODES("a rule of one's own replaces the derivative, also the second") {
  using Tensor = tyto::Tensor<Mode>;
  const auto clipped =
      tyto::custom_gradient<Tensor>([](const std::vector<Tensor>& in) { return in[0] * in[0] * in[1]; },
                                    [](const std::vector<Tensor>& in, const Tensor& result, const Tensor& g) {
                                      return std::vector<Tensor>{g * 100.0 * in[0], g * result};
                                    });
  const auto f = [&](Tensor a, Tensor b) { return clipped({a, b}).sum(); };
  const auto [value, gradients] = value_and_grad(f, {0, 1})(f64<Mode>({3}), f64<Mode>({2}));
  CHECK(numbers(value) == Numbers{18});
  CHECK(numbers(gradients[0]) == Numbers{300});
  CHECK(numbers(gradients[1]) == Numbers{18});
  auto second = grad([&](Tensor a) { return grad([&](Tensor v) { return clipped({v, v}).sum(); })(a).sum(); });
  // the rule with both inputs v: 100 v + v^3, whose second derivative, by the rule again for `result`: 100 + rule(v).
  CHECK(numbers(second(f64<Mode>({2}))) == Numbers{100 + 200 + 8});
  const auto wrong = tyto::custom_gradient<Tensor>(
      [](const std::vector<Tensor>& in) { return in[0]; },
      [](const std::vector<Tensor>&, const Tensor&, const Tensor&) { return std::vector<Tensor>(); });
  CHECK_THROWS_AS(grad([&](Tensor v) { return wrong({v}).sum(); })(f64<Mode>({2})), tyto::GraphError);
}

BOTH_MODES("gradients with respect to variables leave the variables as they were") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(f64<Mode>({1, 2}), "w");
  const Tensor b = Tensor::variable(f64<Mode>({5}), "b");
  const Tensor unused = Tensor::variable(Tensor::ones({2, 2}), "unused");
  const auto loss = [&](Tensor x) { return ((w * x + b) * w).sum(); };
  const auto [value, gradients] = value_and_grad(loss, std::vector<Tensor>{w, b, unused, w})(f64<Mode>({10, 20}));
  CHECK(numbers(value) == Numbers{10 + 5 + 80 + 10});
  CHECK(numbers(gradients[0]) == Numbers{25, 85});
  CHECK(numbers(gradients[1]) == Numbers{3});
  CHECK(numbers(gradients[2]) == Numbers{0, 0, 0, 0});
  CHECK(numbers(gradients[3]) == Numbers{25, 85});  // listed twice: the whole gradient both times
  CHECK(numbers(w) == Numbers{1, 2});
  CHECK_THROWS_AS(value_and_grad(loss, std::vector<Tensor>{f64<Mode>({1})})(f64<Mode>({1, 1})), tyto::GraphError);
  CHECK_THROWS_AS(value_and_grad(loss, std::vector<Tensor>{Tensor()})(f64<Mode>({1, 1})), tyto::GraphError);
  CHECK(numbers(w) == Numbers{1, 2});
}

BOTH_MODES("rebinding and writing parts while the tape runs is seen by it") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) {
    Tensor y = Tensor::zeros({4}, DType::f64);
    y(slice(0, 2)) = v * v;
    y(slice(2, 4)) = v;
    y(1) *= 10.0;
    v += y(slice(0, 2));
    v(0) = 0.0;
    return (y.sum() + v.sum());
  };
  // y = (a^2, 10 b^2, a, b); v = (0, b + 10 b^2)
  CHECK(numbers(grad(f)(f64<Mode>({3, 2}))) == Numbers{2 * 3 + 1, 20 * 2 + 1 + 1 + 20 * 2});
}

BOTH_MODES("a state assigned to while the tape runs keeps both its values apart") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(f64<Mode>({3}));
  const auto loss = [&](Tensor x) {
    const Tensor before = w * w;
    assign(w, w * x);
    return (before + w).sum();  // w0^2 + w0 x
  };
  const auto [value, gradients] = value_and_grad(loss, std::vector<Tensor>{w})(f64<Mode>({5}));
  CHECK(numbers(value) == Numbers{24});
  CHECK(numbers(gradients[0]) == Numbers{11});
  CHECK(numbers(w) == Numbers{15});
}

BOTH_MODES("a tape that throws half-way leaves states as they were") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(f64<Mode>({3}));
  const Tensor n = Tensor::variable(Tensor{1, 2});
  const auto stopped = [&](Tensor x) -> Tensor {
    (void)(w * x);
    throw std::runtime_error("stop");
  };
  CHECK_THROWS_AS(value_and_grad(stopped, std::vector<Tensor>{w})(f64<Mode>({5})), std::runtime_error);
  const auto fine = [&](Tensor x) { return (w * x).sum(); };
  CHECK_THROWS_AS(value_and_grad(fine, std::vector<Tensor>{w, n})(f64<Mode>({5})), tyto::TypeError);
  CHECK(numbers(w) == Numbers{3});
  CHECK(numbers(value_and_grad(fine, std::vector<Tensor>{w})(f64<Mode>({5})).second[0]) == Numbers{5});
  CHECK(numbers(grad([&](Tensor x) { return (w * x).sum(); })(f64<Mode>({5}))) == Numbers{3});
}

BOTH_MODES("a compiled function differentiates like the function itself") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(f64<Mode>({2, 3}));
  auto f = tyto::compile([&](Tensor x) { return (x * x * w).sum(); });
  const Tensor x = f64<Mode>({1, 5});
  CHECK(numbers(f(x)) == Numbers{77});
  CHECK(numbers(grad([&](Tensor v) { return f(v); })(x)) == Numbers{4, 30});
  CHECK(numbers(value_and_grad([&](Tensor v) { return f(v); }, std::vector<Tensor>{w})(x).second[0]) == Numbers{1, 25});
  CHECK(numbers(f(x)) == Numbers{77});
}

BOTH_MODES("gradients can be compiled, with updates, and nested") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(f64<Mode>({0, 0}));
  const Tensor target = f64<Mode>({3, -1});
  auto step = tyto::compile([&](Tensor rate) {
    const auto [loss, gradients] =
        value_and_grad([&](Tensor t) { return square(w - t).sum(); }, std::vector<Tensor>{w})(target);
    assign(w, w - rate * gradients[0]);
    return loss;
  });
  CHECK(numbers(step(f64<Mode>({0.25}))) == Numbers{10});
  CHECK(numbers(step(f64<Mode>({0.25}))) == Numbers{2.5});
  CHECK(numbers(w) == Numbers{2.25, -0.75});
  auto curvature = tyto::compile([](Tensor v) { return hessian([](Tensor u) { return (u * u * u).sum(); })(v); });
  CHECK(numbers(curvature(f64<Mode>({1, 2}))) == Numbers{6, 0, 0, 12});
}

BOTH_MODES("what has no gradient is refused by name") {
  using Tensor = tyto::Tensor<Mode>;
  const auto total = [](Tensor v) { return v.sum(); };
  CHECK_THROWS_WITH_AS(grad(total)(Tensor{1, 2}),
                       "grad: a gradient with respect to a tensor of i64 does not exist; {1.0, 2.0} makes one of f32, "
                       "{1, 2} one of integers",
                       tyto::TypeError);
  CHECK_THROWS_AS(grad([](Tensor v) { return v * 2; })(Tensor{1.0, 2.0}), tyto::ShapeError);
  CHECK_THROWS_AS(grad([](Tensor v) { return argmax(v); })(Tensor{1.0, 2.0}), tyto::TypeError);
  using Host = tyto::Tensor<tyto::Eager>;
  const auto opaque = [](Tensor v) {
    return tyto::delay<Mode>({}, DType::f32, [](const std::vector<Host>& in) { return in[0].sum(); }, {v});
  };
  CHECK_THROWS_AS(grad(opaque)(Tensor{1.0, 2.0}), tyto::GraphError);
  CHECK_THROWS_AS(grad(total)(Tensor()), tyto::GraphError);
}

BOTH_MODES("halves, floats and doubles keep their type through a gradient") {
  using Tensor = tyto::Tensor<Mode>;
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = Tensor{1.0, 2.0}.astype(type);
    const Tensor g = grad([](Tensor v) { return (v * v * 0.5).sum(); })(x);
    CHECK(g.dtype() == type);
    CHECK(numbers(g) == Numbers{1, 2});
  }
  // Through a cast the gradient comes back in the type of the argument.
  const Tensor g = grad([](Tensor v) { return (v.astype(DType::f64) * 3.0).sum(); })(Tensor{1.0});
  CHECK(g.dtype() == DType::f32);
}

BOTH_MODES("a chain of a hundred thousand operators differentiates") {
  using Tensor = tyto::Tensor<Mode>;
  const auto f = [](Tensor v) {
    for (int i = 0; i < 100000; ++i) v = v + 1.0;
    return (v * v).sum();
  };
  CHECK(numbers(grad(f)(f64<Mode>({0, 1}))) == Numbers{200000, 200002});
}
