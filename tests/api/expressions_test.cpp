// SPDX-License-Identifier: MIT
// simplify() and substitute(): expressions as values that other expressions are made of.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "tests/support/message.hpp"

using tyto_test::message_of;

namespace expressions_test {

using Tensor = tyto::Tensor<tyto::Lazy>;
using Eager = tyto::Tensor<tyto::Eager>;
using tyto::DType;
using tyto::formula;
using tyto::simplify;
using tyto::substitute;

Tensor named(const tyto::Shape& shape, const char* name) { return Tensor::placeholder(shape, DType::f32, name); }

std::vector<float> value_at(const Tensor& y, const Tensor& x, const std::vector<float>& numbers) {
  tyto::Graph graph({.inputs = {x}, .outputs = {y}});
  graph.set(x, Tensor(numbers));
  graph.run();
  return graph[y].to_vector<float>();
}

TEST_CASE("simplify applies identities that hold bit for bit, and others where they are asked for") {
  const Tensor x = named({3}, "x"), y = named({3}, "y");
  CHECK(formula(simplify(x * 1.0)) == "y = x\n");
  CHECK(formula(simplify(-(-x))) == "y = x\n");
  CHECK(formula(simplify(x + 0.0)) == "y = x + 0\n");
  CHECK(formula(simplify(x + 0.0, "+fast_math")) == "y = x\n");
  CHECK(formula(simplify(x * (Tensor{2.0, 2.0, 2.0} * 3.0))).find("where") != std::string::npos);
  CHECK(formula(simplify(sin(x) + sin(x) * y)) == "let t1 = sin(x)\ny1 = t1 + t1 * y\n");
  CHECK(formula(simplify(transpose(transpose(named({2, 3}, "m"))))) == "y = m\n");
}

TEST_CASE("simplify shortens a third derivative and leaves its numbers alone") {
  const Tensor x = named({4}, "x");
  const auto f = [](const Tensor& t) { return sum(sin(t) * exp(t)); };
  const auto third = tyto::grad(
      [&](const Tensor& t) { return sum(tyto::grad([&](const Tensor& u) { return sum(tyto::grad(f)(u)); })(t)); })(x);
  const Tensor simple = simplify(third);
  CHECK(formula(simple).size() < formula(third).size() / 2);
  const std::vector<float> numbers{-1.0f, 0.0f, 0.5f, 2.0f};
  const std::vector<float> plain = value_at(third, x, numbers), found = value_at(simple, x, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double t = numbers[i];
    // (sin t exp t)''' = 2 exp t (cos t - sin t)
    CHECK(found[i] == doctest::Approx(2 * std::exp(t) * (std::cos(t) - std::sin(t))).epsilon(1e-5));
    CHECK(found[i] == doctest::Approx(plain[i]).epsilon(1e-5));
  }
}

TEST_CASE("simplify reads states as they were where the expression read them") {
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w"), x = named({2}, "x");
  const Tensor before = x * (w * 1.0);
  tyto::assign(w, Tensor{10.0, 20.0});
  CHECK(value_at(simplify(before), x, {1, 1}) == std::vector<float>{1, 2});
}

TEST_CASE("simplify leaves draws and what is computed already as they are") {
  const Tensor drawn = Tensor::uniform({2}) * 1.0;
  CHECK(same_value(simplify(drawn).value(), drawn.value()));
  Tensor known = Tensor{1.0, 2.0} * 2.0;
  tyto::eval({known});
  CHECK(simplify(known).to_vector<float>() == std::vector<float>{2, 4});
}

TEST_CASE("simplify inside of a gradient changes no number of it") {
  const auto f = [](const Tensor& t) { return sum(simplify(t * t * 1.0)); };
  CHECK(tyto::grad(f)(Tensor{1.0, 2.0, 3.0}).to_vector<float>() == std::vector<float>{2, 4, 6});
  const Tensor x = named({3}, "x");
  CHECK(value_at(tyto::grad(f)(x), x, {1, 2, 3}) == std::vector<float>{2, 4, 6});
  Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w");
  auto step = tyto::compile([&](const Tensor& rate) {
    const auto [loss, gradients] =
        tyto::value_and_grad([&](const Tensor&) { return sum(simplify(w * w * 1.0)); }, std::vector{w})(rate);
    tyto::assign(w, w - rate * gradients[0]);
    return loss;
  });
  CHECK(step(Tensor(0.25f)).item<float>() == 5);
  CHECK(w.to_vector<float>() == std::vector<float>{0.5f, 1});
}

TEST_CASE("simplify and substitute read a state whose new value is still to come") {
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0}, "w");
  const Tensor old = w * 1.0;
  tyto::assign(w, w * 2.0);
  CHECK(simplify(w * 1.0).to_vector<float>() == std::vector<float>{2, 4});
  CHECK(substitute(old, {{w, Tensor{100.0, 200.0}}}).to_vector<float>() == std::vector<float>{100, 200});
  CHECK(w.to_vector<float>() == std::vector<float>{2, 4});
}

TEST_CASE("substitute refuses what is computed already and may depend on what is replaced") {
  const Tensor older = Tensor{5.0, 6.0} * 2.0;
  tyto::eval({older});
  const Tensor x{1.0, 2.0}, z{10.0, 20.0};
  const Tensor y = square(x) + x;
  CHECK(substitute(y + older, {{x, z}}).to_vector<float>() == std::vector<float>{120, 432});
  const Tensor part = square(x), whole = part + x;
  tyto::eval({part});
  CHECK(message_of<tyto::GraphError>([&] {
          substitute(whole, {{x, z}});
        }) ==
        "substitute: a part of x, square of f32(2,), is computed already and no longer knows of what; substitute "
        "before it is read, or replace a placeholder, which nothing that is computed depends on");
  // The cure: an independent part may be computed where what is replaced is a placeholder.
  const Tensor open = named({2}, "open"), independent = exp(z * 0.0);
  tyto::eval({independent});
  CHECK(substitute(open + independent, {{open, x}}).to_vector<float>() == std::vector<float>{2, 3});
  tyto::eval({y});
  CHECK_THROWS_AS(substitute(y, {{x, z}}), tyto::GraphError);
}

TEST_CASE("simplify knows the names of passes whatever it is given") {
  CHECK_THROWS_AS(simplify(named({1}, "x"), "bogus"), tyto::ValueError);
}

TEST_CASE("substitute computes an expression of other operands, all at once") {
  const Tensor x = named({2}, "x"), y = named({2}, "y");
  CHECK(formula(substitute(square(x) + x, {{x, sin(x)}})) == "let t1 = sin(x)\ny = t1^2 + t1\n");
  CHECK(formula(substitute(x - y, {{x, y}, {y, x}})) == "y1 = y - x\n");
  CHECK(formula(substitute(x, {{x, y}})) == "y1 = y\n");
  const Tensor inner = x * 2.0;
  CHECK(formula(substitute(exp(inner) + x, {{inner, y}})) == formula(exp(y) + x));
  const Tensor apart = exp(y);
  CHECK(same_value(substitute(apart, {{x, y}}).value(), apart.value()));
}

TEST_CASE("substitute puts a number's tensor for a placeholder and evaluates") {
  const Tensor x = named({3}, "x"), w = Tensor::variable(Tensor{1.0, 2.0, 3.0}, "w");
  const auto gradient = [&] { return tyto::grad([&](const Tensor& t) { return sum(w * t * t); })(x); };
  const Tensor one = gradient();
  CHECK(substitute(one, {{x, Tensor{1.0, 10.0, 100.0}}}).to_vector<float>() == std::vector<float>{2, 40, 600});
  CHECK(substitute(one, {{x, Tensor{0.0, 0.0, 1.0}}}).to_vector<float>() == std::vector<float>{0, 0, 6});
  CHECK(substitute(gradient(), {{x, Tensor{1.0, 1.0, 1.0}}, {w, Tensor{5.0, 6.0, 7.0}}}).to_vector<float>() ==
        std::vector<float>{10, 12, 14});
}

TEST_CASE("substitute takes loops and operators of several results along") {
  const Tensor x = named({4}, "x");
  const Tensor looped = tyto::fori_loop(0, 3, x, [](const Tensor&, const Tensor& c) { return c * 2.0; });
  CHECK(substitute(looped, {{x, Tensor{1.0, 2.0, 3.0, 4.0}}}).to_vector<float>() == std::vector<float>{8, 16, 24, 32});
  const auto [values, indices] = tyto::topk(x, 2);
  CHECK(substitute(indices, {{x, Tensor{1.0, 7.0, 3.0, 4.0}}}).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, 3});
}

TEST_CASE("substitute refuses other types and shapes") {
  const Tensor x = named({2}, "x");
  CHECK(message_of<tyto::ShapeError>([&] {
          substitute(x * 2.0, {{x, named({3}, "z")}});
        }) == "substitute: a tensor of shape (3,) cannot stand in for one of shape (2,)");
  CHECK(message_of<tyto::TypeError>([&] {
          substitute(x * 2.0, {{x, Tensor::zeros({2}, DType::f64)}});
        }) == "substitute: f64 cannot stand in for f32; cast it first");
  CHECK_THROWS_AS(substitute(Tensor(), {}), tyto::GraphError);
}

TEST_CASE("a substituted chain of a hundred thousand nodes needs no stack") {
  const Tensor x = named({1}, "x");
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + 1.0;
  CHECK(substitute(y, {{x, Tensor{0.0}}}).to_vector<float>() == std::vector<float>{100000});
}

}  // namespace expressions_test
