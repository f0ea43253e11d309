// SPDX-License-Identifier: MIT
// Conveniences that a newcomer from NumPy or PyTorch expects and writes without looking them up.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>
#include <vector>

using namespace tyto;
using doctest::Contains;

TEST_CASE_TEMPLATE("lists of tensors need no type spelled out", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{1.0, 2.0}, y{3.0, 4.0};
  CHECK(concat({x, y}).shape() == Shape{4});
  CHECK(stack({x, y}, 1).shape() == Shape{2, 2});
  CHECK(einsum("i,i->", {x, y}).template item<double>() == 11);
  CHECK(meshgrid({x, y})[1].shape() == Shape{2, 2});
  CHECK(linalg::multi_dot({T::eye(2), T::eye(2)}).shape() == Shape{2, 2});
  T w = T::variable(x), b = T::variable(y);
  const auto [value, gradients] = value_and_grad([&](const T& v) { return sum(w * v + b); }, {w, b})(T{5.0, 6.0});
  CHECK(gradients[0].template to_vector<float>() == std::vector<float>{5, 6});
  CHECK(gradients[1].template to_vector<float>() == std::vector<float>{1, 1});
}

TEST_CASE_TEMPLATE("allclose takes any types, and infinities and NaN as NumPy does", M, Eager, Lazy) {
  using T = Tensor<M>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  CHECK(allclose(T{1.0, 2.0}, T{1.0, 2.00001}));
  CHECK_FALSE(allclose(T{1.0, 2.0}, T{1.0, 2.0001}));
  CHECK(allclose(T{1.0, 2.0}, T{1.0, 2.0001}, 0, 0.001));
  CHECK(allclose(T{inf, -inf}, T{inf, -inf}));
  CHECK_FALSE(allclose(T{inf}, T{-inf}));
  CHECK_FALSE(allclose(T{1.0}, T{inf}));
  CHECK_FALSE(allclose(T{inf}, T{1.0}));
  CHECK_FALSE(allclose(T{nan}, T{nan}));
  CHECK_FALSE(allclose(T{1, 2}.astype(DType::u8), T{2, 1}.astype(DType::u8)));
  CHECK(allclose(T{1, 2}, 1, 0, 1));
  CHECK(allclose(T::ones({2, 3}), T::ones({3}).astype(DType::f16)));
  CHECK(allclose(T::zeros({0}), T{1.0}));
  const T z = T{1.0, 2.0}.astype(DType::c64) * std::complex<double>(0, 1);
  CHECK(allclose(z, z + 1e-7));
  CHECK_FALSE(allclose(z, conj(z)));
}

TEST_CASE_TEMPLATE("tensors are made of vectors and single lengths, indexed with brackets, gone through by rows", M,
                   Eager, Lazy) {
  using T = Tensor<M>;
  const T from_vector(std::vector<float>{1, 2, 3});
  CHECK(from_vector.shape() == Shape{3});
  CHECK(from_vector.dtype() == DType::f32);
  CHECK(T(std::vector<std::int64_t>{}).shape() == Shape{0});
  CHECK(T::zeros(5).shape() == Shape{5});
  T x = T::arange(6).reshape({2, 3});
  CHECK(x.reshape(-1).shape() == Shape{6});
  CHECK(T(x[1]).template to_vector<int>() == std::vector<int>{3, 4, 5});
  CHECK(T(x[-1][0]).template item<int>() == 3);
  CHECK(T(x[slice(0, 1)]).shape() == Shape{1, 3});
  x[0] = 9;
  CHECK(x.template to_vector<int>() == std::vector<int>{9, 9, 9, 3, 4, 5});
  std::vector<std::int64_t> sums;
  for (const T& row : x) sums.push_back(row.sum().template item<std::int64_t>());
  CHECK(sums == std::vector<std::int64_t>{27, 12});
  CHECK_THROWS_WITH_AS((void)T(1).end(), "for: a tensor of shape () has no rows to go through", IndexError);
}

TEST_CASE_TEMPLATE("elements are read as any type that holds them", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(T(0.5).template item<double>() == 0.5);
  CHECK(T{3.0}.template item<int>() == 3);
  CHECK(T::full({}, 7, DType::i64).template item<float>() == 7);
  CHECK(T(true).template item<bool>());
  CHECK(T{1}.template item<bool>());
  CHECK(T{1.5}.item().as_double() == 1.5);
  CHECK(T{3}.item() == Scalar(3));
  CHECK(T{true}.item() == Scalar(true));
  CHECK(T{1.0, 2.0}.astype(DType::f16).template to_vector<double>() == std::vector<double>{1, 2});
  CHECK(T{1, 2}.template to_vector<std::int8_t>() == std::vector<std::int8_t>{1, 2});
  CHECK_THROWS_WITH_AS((void)T{2.5}.template item<int>(),
                       "item: the element is 2.5 (f32), which i32 does not hold; cast first with astype", TypeError);
  CHECK_THROWS_WITH_AS((void)T({1, 300}).template to_vector<std::uint8_t>(),
                       "to_vector: element 1 is 300 (i64), which u8 does not hold; cast first with astype", TypeError);
  CHECK_THROWS_AS((void)T{2}.template item<bool>(), TypeError);
  CHECK_THROWS_AS((void)(T{1.0} / 0.0).template item<std::int64_t>(), TypeError);
  const T one{1.0};
  CHECK_THROWS_AS((void)one.template data<double>(), TypeError);
}

TEST_CASE_TEMPLATE("compound assignment to a variable assigns to it", M, Eager, Lazy) {
  using T = Tensor<M>;
  T w = T::variable(T{1.0, 2.0}, "w"), kept = T::persistent(T{1.0});
  const T other = w;
  w -= T{0.5, 0.5};
  CHECK(other.template to_vector<float>() == std::vector<float>{0.5F, 1.5F});
  w(0) = 9.0;
  CHECK(other.template to_vector<float>() == std::vector<float>{9, 1.5F});
  kept *= 3;
  CHECK(kept.template item<float>() == 3);
  T x{1.0};
  const T before = x;
  x += 1;
  CHECK(before.template item<float>() == 1);
  CHECK(x.template item<float>() == 2);
  CHECK_THROWS_WITH_AS(w += T::ones({3, 2}), Contains("'w' has shape (2,), given (3,2)"), ShapeError);
}

TEST_CASE("compound assignment in a compiled function is an update") {
  using T = Tensor<Lazy>;
  T w = T::variable(T{1.0, 2.0});
  auto step = compile([&](T x) {
    x += 1;  // the function's own name
    w -= 0.5 * x;
    return sum(w);
  });
  const T x{1.0, 3.0};
  CHECK(step(x).item<float>() == 0);
  CHECK(step(x).item<float>() == -3);
  CHECK(w.to_vector<float>() == std::vector<float>{-1, -2});
  CHECK(x.to_vector<float>() == std::vector<float>{1, 3});
}

TEST_CASE_TEMPLATE("compiled functions take plain numbers", M, Eager, Lazy) {
  using T = Tensor<M>;
  auto scaled = compile([](const T& x, const T& by) { return x * by; });
  CHECK(scaled(T{1.0, 2.0}, 3).template to_vector<float>() == std::vector<float>{3, 6});
  CHECK(scaled(T{1.0, 2.0}, 0.5).template to_vector<float>() == std::vector<float>{0.5F, 1});
  CHECK(scaled(T{1.0}.astype(DType::f16), 0.5).dtype() == DType::f16);
  CHECK(scaled(2, T{1.0}).template item<float>() == 2);
}

TEST_CASE_TEMPLATE("a mask over part of the axes is assigned through in both modes", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T start = T::arange(6).reshape({3, 2}), rows{true, false, true}, columns{false, true};
  T x = start;
  x(rows) = -1;
  CHECK(x.template to_vector<int>() == std::vector<int>{-1, -1, 2, 3, -1, -1});
  x = start;
  x(rows) = T{7, 8};
  CHECK(x.template to_vector<int>() == std::vector<int>{7, 8, 2, 3, 7, 8});
  x = start;
  x(all, columns) = 9;
  CHECK(x.template to_vector<int>() == std::vector<int>{0, 9, 2, 9, 4, 9});
  x = start;
  x(ellipsis, columns) = 9;
  CHECK(x.template to_vector<int>() == std::vector<int>{0, 9, 2, 9, 4, 9});
  x = start;
  x(slice(1, 3), columns) = 9;
  CHECK(x.template to_vector<int>() == std::vector<int>{0, 1, 2, 9, 4, 9});
  x = start;
  x(1, columns) = 9;
  CHECK(x.template to_vector<int>() == std::vector<int>{0, 1, 2, 9, 4, 5});
  x = start;
  x(start > 2) = 0;
  CHECK(x.template to_vector<int>() == std::vector<int>{0, 1, 2, 0, 0, 0});
  CHECK_THROWS_AS(x(T{true, false}) = 0, IndexError);
}

TEST_CASE_TEMPLATE("integers to a negative power are refused, and einsum keeps the operands' type", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK_THROWS_WITH_AS(power(T{1, 2}, -1),
                       "power: integers to the power -1 are no integers; write the exponent with a point, or cast the "
                       "base to f32 or f64",
                       ValueError);
  CHECK(power(T{1, 2}, -1.0).dtype() == DType::f32);
  CHECK(power(T{1.0, 2.0}, -1).template to_vector<double>() == std::vector<double>{1, 0.5});
  const T a = T{{1, 2}, {3, 4}}.astype(DType::i32);
  CHECK(einsum("ij->i", {a}).dtype() == DType::i32);
  CHECK(einsum("ij,jk->ik", {a, a}).dtype() == DType::i32);
  CHECK(einsum("ij->", {a}).template item<int>() == 10);
}

TEST_CASE_TEMPLATE("narrow is a slice along one axis", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = T::arange(12).reshape({3, 4});
  CHECK(array_equal(narrow(x, 1, 1, 3), x(all, slice(1, 3))));
  CHECK(array_equal(narrow(x, -2, -2, 99), x(slice(1, 3))));
  CHECK(narrow(x, 0, 2, 1).shape() == Shape{0, 4});
  CHECK_THROWS_AS(narrow(x, 2, 0, 1), IndexError);
}

TEST_CASE("named arrays are found by their names") {
  NamedList<Tensor<Eager>> arrays{{"x", Tensor<Eager>{1.0}}, {"y", Tensor<Eager>{2.0}}};
  CHECK(arrays["y"].item<double>() == 2);
  CHECK(arrays[0].name == "x");
  CHECK(arrays.contains("x"));
  CHECK(arrays.find("z") == nullptr);
  CHECK_THROWS_WITH_AS(arrays["z"], "nothing is called 'z' among x, y", IndexError);
}
