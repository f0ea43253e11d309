// SPDX-License-Identifier: MIT
// Graphs that Owl's optimiser is known to get wrong, or to refuse, compute the right values here.
#include <doctest/doctest.h>

#include <limits>

#include "core/graph/op_ids.hpp"
#include "tests/passes/sketch.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;
using T = Tensor<Lazy>;

namespace {

std::vector<float> values(const T& x) { return x.template to_vector<float>(); }

}  // namespace

TEST_CASE("the product of two transposed matrices keeps both transposes, square or not") {
  auto square_product = compile([](T a, T b) { return matmul(a.T(), b.T()); });
  // (1 3; 2 4)(5 7; 6 8)
  CHECK(values(square_product(T{{1.0f, 2.0f}, {3.0f, 4.0f}}, T{{5.0f, 6.0f}, {7.0f, 8.0f}})) ==
        std::vector<float>{23, 31, 34, 46});
  auto oblong = compile([](T a, T b) { return matmul(a.T(), b.T()); });
  // (1; 2)(3 4)
  CHECK(values(oblong(T{{1.0f, 2.0f}}, T{{3.0f}, {4.0f}})) == std::vector<float>{3, 4, 6, 8});
  CHECK(square_product.report().steps == 1);  // transposes are views: nothing is copied
}

TEST_CASE("a transpose that permutes nothing is not taken for one that does") {
  Sketch s;
  const Port same = s.add(OpId::transpose, {s.input({2, 2})}, core::ListAttributes{{0, 1}});
  const core::Graph graph = s.graph({s.add(OpId::matmul, {same, s.input({2, 2})})});
  CHECK(agree(results_of(graph), results_of(optimised(graph, ""))));
}

TEST_CASE("adding zeros of a larger shape still stretches") {
  auto f = compile([](T x) { return x + T::zeros({3, 2}); }, {.passes = "+fast_math"});
  const T y = f(T{{1.0f, 2.0f}});
  CHECK(y.shape() == Shape{3, 2});
  CHECK(values(y) == std::vector<float>{1, 2, 1, 2, 1, 2});
}

TEST_CASE("zeros plus the same zeros are zeros") {
  auto f = compile([](T x) {
    const T zero = T::zeros({2});
    return x * (zero + zero);
  });
  CHECK(values(f(T{1.0f, 2.0f})) == std::vector<float>{0, 0});
}

TEST_CASE("one product used twice by a sum is added to itself") {
  auto f = compile([](T a, T b) {
    const T m = a * b;
    return m + m;
  });
  CHECK(values(f(T{2.0f, 3.0f}, T{5.0f, 7.0f})) == std::vector<float>{20, 42});
}

TEST_CASE("a product that is an output and a multiply-add's operand is right on each run") {
  auto f = compile([](T a, T b, T c) {
    const T m = a * b;
    return std::pair(m, m + c);
  });
  for (const float x : {2.0f, 5.0f}) {
    const auto [product, sum] = f(T{x}, T{3.0f}, T{1.0f});
    CHECK(values(product) == std::vector<float>{3 * x});
    CHECK(values(sum) == std::vector<float>{3 * x + 1});
  }
}

TEST_CASE("a repeated operand is not dropped when the other operand is small too") {
  auto f = compile([](T a, T b) { return repeat(a, 3, 0) + b; });
  CHECK(values(f(T{{1.0f, 2.0f}}, T{{10.0f, 20.0f}})) == std::vector<float>{11, 22, 11, 22, 11, 22});
}

TEST_CASE("optimising twice changes nothing") {
  Sketch s;
  const Port x = s.input({2, 2});
  const core::Graph graph = s.graph({s.add(OpId::add, {s.add(OpId::multiply, {x, x}), s.input({2, 2})})});
  const core::Graph once = optimised(graph, "");
  PassReport report;
  const core::Graph twice = optimised(once, "", &report);
  CHECK(report.fired() == 0);
  CHECK(core::to_text(once) == core::to_text(twice));
}

TEST_CASE("operators that Owl's optimiser refuses are optimised around") {
  auto f = compile([](T x, T y) {
    return stack(std::vector<T>{maximum(x, y) * 1.0, minimum(x, y) - 0.0, hypot(x, y) / 1.0});
  });
  CHECK(values(f(T{3.0f}, T{4.0f})) == std::vector<float>{4, 3, 5});
  CHECK(f.report().passes.fired("identity_element") == 3);
}

TEST_CASE("what stands above a number over a tensor is optimised") {
  auto f = compile([](T x) { return (2.0 / x) * 1.0 - 0.0; });
  CHECK(values(f(T{4.0f})) == std::vector<float>{0.5f});
  CHECK(f.report().passes.fired("identity_element") == 2);
}

TEST_CASE("zero over x and zero times x keep their NaN unless fast_math gives it up") {
  const auto program = [](T x) { return std::pair(0.0 / x, 0.0 * x); };
  auto honest = compile(program);
  const auto [quotient, product] = honest(T{0.0f});
  CHECK(quotient.item<float>() != quotient.item<float>());
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(honest(T{infinity}).second.item<float>() != honest(T{infinity}).second.item<float>());
  auto quick = compile(program, {.passes = "+fast_math"});
  CHECK(quick(T{infinity}).second.item<float>() == 0.0f);
}
