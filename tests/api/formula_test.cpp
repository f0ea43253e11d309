// SPDX-License-Identifier: MIT
// formula(): what tensors, gradients and graphs compute, as a person would write it.
#include <doctest/doctest.h>

#include <string>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using namespace tyto;
using LazyTensor = Tensor<Lazy>;

namespace {

LazyTensor named(const Shape& shape, const std::string& name) {
  return LazyTensor::placeholder(shape, DType::f32, name);
}

}  // namespace

TEST_CASE("operators stand between their operands, with the brackets that are needed") {
  const LazyTensor a = named({2}, "a"), b = named({2}, "b"), c = named({2}, "c");
  CHECK(formula(a + b + c) == "y = a + b + c\n");
  CHECK(formula(a - (b - c)) == "y = a - (b - c)\n");
  CHECK(formula((a + b) * c) == "y = (a + b) * c\n");
  CHECK(formula(a / (b * c)) == "y = a / (b * c)\n");
  CHECK(formula(-(a + b)) == "y = -(a + b)\n");
  CHECK(formula(square(a + b)) == "y = (a + b)^2\n");
  CHECK(formula(-square(a)) == "y = -a^2\n");
  CHECK(formula(square(-a)) == "y = (-a)^2\n");
  CHECK(formula(exp(a) * 2.0) == "y = exp(a) * 2\n");
  CHECK(formula(a * -2.0) == "y = a * -2\n");
  CHECK(formula(a < b) == "y = a < b\n");
  CHECK(formula(a * (b / c)) == "y = a * (b / c)\n");
  CHECK(formula(a * b / c) == "y = a * b / c\n");
  CHECK(formula(a * (b * c)) == "y = a * b * c\n");
  CHECK(formula(less(a < b, c)) == "y = cast(a < b; dtype=f32) < c\n");
}

TEST_CASE("products, transposes and sums are those of matrices") {
  const LazyTensor w = named({3, 2}, "w"), x = named({4, 2}, "x");
  CHECK(formula(matmul(x, w.T())) == "y = x @ w.T\n");
  CHECK(formula(sum(x)).starts_with("y = sum(x; "));
  const LazyTensor s = named({2, 2}, "s"), m = named({2, 2}, "m");
  CHECK(formula(s * matmul(m, m)) == "y = s * m @ m\n");
  CHECK(formula(matmul(s * m, m)) == "y = (s * m) @ m\n");
  CHECK(formula(matmul(s, matmul(m, m))) == "y = s @ (m @ m)\n");
  CHECK(formula(matmul(-s, m)) == "y = (-s) @ m\n");
}

TEST_CASE("an expression that is read twice gets a name") {
  const LazyTensor a = named({2}, "a");
  const LazyTensor e = exp(a);
  CHECK(formula(e / (e + 1.0)) == "let t1 = exp(a)\ny = t1 / (t1 + 1)\n");
  CHECK(formula(a * a) == "y = a * a\n");
}

TEST_CASE("names in a formula are unique") {
  const LazyTensor a = named({2}, "t1"), b = named({2}, "t1"), c = LazyTensor::placeholder({2}), y = named({2}, "y");
  const LazyTensor e = exp(a + b + c);
  CHECK(formula(e * e + y) == "let t2 = exp(t1 + t1_2 + x1)\ny1 = t2 * t2 + y\n");
}

TEST_CASE("given data are constants with a name and their first numbers, single numbers stand by value") {
  const LazyTensor a = named({2}, "a");
  CHECK(formula(a + LazyTensor{1.0, 2.0}) == "y = a + c1\nwhere c1 is a constant f32(2,) {1, 2}\n");
  const std::string large = formula(a + LazyTensor::constant(LazyTensor::ones({2000, 2})));
  CHECK(large == "y = a + c1\nwhere c1 is a constant f32(2000,2) {1, 1, 1, 1, ...}\n");
  CHECK(formula(a + LazyTensor{1.0, 2.5}, FormulaStyle::latex) ==
        "\\begin{aligned}\ny &= a + c_{1} \\\\\nc_{1} &= \\{1, 2.5\\} \\in \\text{f32}^{(2,)} \\\\\n\\end{aligned}\n");
  CHECK(formula(LazyTensor(2.5)) == "y = 2.5\n");
}

TEST_CASE("gradients have formulas too") {
  const LazyTensor a = named({}, "a");
  const LazyTensor g = LazyTensor(grad([](const LazyTensor& x) { return sin(x); })(a));
  CHECK(formula(g) == "y = cos(a)\n");
}

TEST_CASE("graphs say what each output is and what each state becomes") {
  const LazyTensor x = named({2}, "x");
  const LazyTensor w = LazyTensor::variable(LazyTensor{1.0, 2.0}, "w");
  const Graph graph{{.inputs = {x}, .outputs = {x + w, x * w}, .updates = {{w, w - x}}}};
  CHECK(graph.formula() == "y1 = x + w\ny2 = x * w\nw <- w - x\n");
}

TEST_CASE("LaTeX has fractions, roots and Greek arrows") {
  const LazyTensor a = named({2}, "a"), rate = named({2}, "learning_rate");
  CHECK(formula(sqrt(a / rate), FormulaStyle::latex) ==
        "\\begin{aligned}\ny &= \\sqrt{\\frac{a}{\\mathit{learning\\_rate}}} \\\\\n\\end{aligned}\n");
  CHECK(formula(exp(a) + square(rate), FormulaStyle::latex) ==
        "\\begin{aligned}\ny &= \\exp\\left(a\\right) + \\mathit{learning\\_rate}^{2} \\\\\n\\end{aligned}\n");
}

TEST_CASE("long chains are cut into lines") {
  const LazyTensor first = named({2}, "x");
  LazyTensor x = first;
  for (int i = 0; i < 1000; ++i) x = sin(x);
  const std::string text = formula(x);
  CHECK(text.size() < 20'000);
  CHECK(text.starts_with("let t1 = sin(sin("));
}

TEST_CASE("states are called by the paths of the layers that read them") {
  const LazyTensor x = named({2, 3}, "x");
  const nn::Linear layer({.in = 3, .out = 4});
  const LazyTensor scale = LazyTensor::variable(LazyTensor{2.0}, "scale");
  CHECK(formula(LazyTensor(layer(x)) * scale) == "y = (x @ Linear.weight + Linear.bias) * scale\n");
  const auto scoped = [&] {
    const NameScope scope("student/head");
    return x * scale;
  };
  CHECK(formula(scoped()) == "y = x * student.head.scale\n");
  CHECK(formula(scoped(), FormulaStyle::latex).find(R"(\mathit{student.head.scale})") != std::string::npos);
}

TEST_CASE("states are called by their own names where paths would read as something else") {
  const LazyTensor x = named({2, 3}, "x");
  const nn::Linear layer({.in = 3, .out = 4});
  const LazyTensor w = LazyTensor::variable(LazyTensor{2.0}, "w");
  const auto scoped = [&](const std::string& scope, const auto& function) {
    const NameScope within(scope);
    return LazyTensor(function());
  };
  const auto call = [&] { return LazyTensor(layer(x)); };
  const auto scale = [&] { return x * w; };
  CHECK(formula(scoped("block", call)) == "y = x @ block.Linear.weight + block.Linear.bias\n");
  CHECK(formula(scoped("my block", call)) == "y = x @ weight + bias\n");
  for (const char* scope : {"a-b", "a-b/2", "2", "2nd", "a/2", "a+b", "f(x)", "a b", "a,b", "a*b", "a//b", "a/"}) {
    CAPTURE(scope);
    CHECK(formula(scoped(scope, scale)) == "y = x * w\n");
  }
  CHECK(formula(scoped("a_2/b3", scale)) == "y = x * a_2.b3.w\n");
  CHECK(formula(scoped("größe", scale)) == "y = x * größe.w\n");
  const nn::Sequential two{nn::Linear({.in = 3, .out = 4}), nn::Linear({.in = 4, .out = 2})};
  CHECK(formula(LazyTensor(two(x))) == "y = (x @ weight + bias) @ weight_2 + bias_2\n");
}

TEST_CASE("inputs whose names would read as something else have a letter and a number") {
  for (const char* name : {"a-b", "2", "2x", "my input", "a+b", "f(x)", "", ".", "a.", "x^2"}) {
    CAPTURE(name);
    CHECK(formula(exp(named({2}, name)) + named({2}, "b")) == "y = exp(x1) + b\n");
  }
  CHECK(formula(exp(named({2}, "encoder/layer_2.input"))) == "y = exp(encoder.layer_2.input)\n");
}
