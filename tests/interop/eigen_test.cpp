// SPDX-License-Identifier: MIT
// <tyto/interop/eigen.hpp>: matrices shared both ways, and sparse matrices as operators, in both modes.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <type_traits>
#include <tyto/interop/eigen.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

Eigen::SparseMatrix<double> sparse_of(const Eigen::MatrixXd& dense) { return dense.sparseView(); }

}  // namespace

BOTH_MODES("Eigen reads a tensor's elements where they lie") {
  using T = Tensor<Mode>;
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}.astype(DType::f64) + 0.0;
  const auto m = eigen::view<double>(x);
  CHECK(m.data() == x.template data<double>().data());
  CHECK(m.rows() == 2);
  CHECK(m(1, 0) == 4);
  const T row = x(1);
  CHECK(eigen::view<double>(row).rows() == 3);
  CHECK(eigen::view<double>(row)(2, 0) == 6);
  const T number = sum(x);
  CHECK(eigen::view<double>(number)(0, 0) == 21);
  const T cube = T::zeros({1, 2, 3}, DType::f64);
  CHECK_THROWS_WITH_AS(eigen::view<double>(cube),
                       "eigen::view: a tensor of up to two axes is needed, not of 3; reshape it, or take a part",
                       ShapeError);
  CHECK_THROWS_AS(eigen::view<float>(x), TypeError);
}

BOTH_MODES("a tensor is over an Eigen matrix, of either order, a vector or a block, without a copy") {
  using T = Tensor<Mode>;
  Eigen::MatrixXd columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  bool released = false;
  {
    const T x = eigen::borrow<T>(columns, [&] { released = true; });
    CHECK(x.shape() == Shape{2, 3});
    columns(1, 0) = 40;  // still the matrix's memory
    CHECK(numbers(x) == Numbers{1, 2, 3, 40, 5, 6});
    CHECK(numbers(matmul(x, x.T())) == Numbers{14, 68, 68, 1661});
    CHECK_FALSE(released);
  }
  CHECK(released);
  const eigen::RowMajor<double> rows = columns;
  const T over_rows = eigen::borrow<T>(rows);
  CHECK(over_rows.template data<double>().data() == rows.data());
  CHECK(numbers(eigen::borrow<T>(columns.block(0, 1, 2, 2))) == Numbers{2, 3, 5, 6});
  CHECK(numbers(eigen::borrow<T>(columns.row(1))) == Numbers{40, 5, 6});
  const Eigen::VectorXd vector = Eigen::VectorXd::LinSpaced(3, 1, 3);
  CHECK(eigen::borrow<T>(vector).shape() == Shape{3});
  const Eigen::Map<const Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> odd(
      columns.data(), 1, 2, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(4, 1));
  CHECK(numbers(eigen::borrow<T>(odd)) == Numbers{1, 3});
}

BOTH_MODES("a tensor keeps a matrix that is moved to it, and copies an expression") {
  using T = Tensor<Mode>;
  Eigen::MatrixXf m(2, 2);
  m << 1, 2, 3, 4;
  const float* const memory = m.data();
  const T x = eigen::adopt<T>(std::move(m));
  CHECK(x.dtype() == DType::f32);
  CHECK(numbers(x) == Numbers{1, 2, 3, 4});
  const T transposed = x.T();
  if (std::is_same_v<Mode, Eager>) CHECK(transposed.template data<float>().data() == memory);
  Eigen::Matrix2d a;
  a << 1, 2, 3, 4;
  CHECK(numbers(eigen::tensor<T>(a * a)) == Numbers{7, 10, 15, 22});
  CHECK(eigen::tensor<T>(a.col(0)).shape() == Shape{2});
  CHECK(eigen::tensor<T>(a.row(0) * 2).shape() == Shape{2});
  CHECK(numbers(eigen::tensor<T>(a.array() + 1)) == Numbers{2, 3, 4, 5});
  CHECK(eigen::tensor<T>(Eigen::MatrixXcf::Identity(2, 2)).dtype() == DType::c64);
  CHECK(eigen::tensor<T>(Eigen::MatrixXd(0, 3)).shape() == Shape{0, 3});
}

BOTH_MODES("a sparse product has values and gradients of the dense one, also in a compiled function") {
  using T = Tensor<Mode>;
  Eigen::MatrixXd dense(2, 3);
  dense << 1, 0, 2, 0, 3, 0;
  const CustomOp product = eigen::sparse_product(sparse_of(dense));
  const T x = T{1.0, 2.0, 3.0}.astype(DType::f64);
  CHECK(numbers(product(x)) == Numbers{7, 6});
  const T columns = T{{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}}.astype(DType::f64);
  CHECK(numbers(product(columns)) == Numbers{3, 2, 0, 3});
  auto f = compile([&](T in) {
    auto [value, gradient] = value_and_grad([&](T v) { return sum(square(product(v))); })(in);
    return std::pair(value, gradient);
  });
  // 2 A' A x
  const auto [value, gradient] = f(x);
  CHECK(numbers(value) == Numbers{85});
  CHECK(numbers(gradient[0]) == Numbers{14, 36, 28});
  CHECK_THROWS_WITH_AS(product(T{1.0, 2.0, 3.0}),
                       doctest::Contains("eigen::sparse_product: the sparse matrix has 2 rows and 3 columns of f64"),
                       ShapeError);
}

BOTH_MODES("a sparse solver has values and gradients of the inverse") {
  using T = Tensor<Mode>;
  Eigen::MatrixXd dense(2, 2);
  dense << 2, 1, 0, 4;
  const CustomOp solve = eigen::sparse_solver(sparse_of(dense));
  const T b = T{4.0, 8.0}.astype(DType::f64);
  CHECK(numbers(solve(b)) == Numbers{1, 2});
  const auto [value, gradient] = value_and_grad([&](T v) { return sum(solve(v)); })(b);
  CHECK(numbers(value) == Numbers{3});
  CHECK(numbers(gradient[0]) == Numbers{0.5, 0.125});  // inverse transposed times ones
  const T twice = grad([&](T v) { return sum(grad([&](T u) { return sum(square(solve(u))); })(v)); })(b);
  // The Hessian 2 inv' inv times ones, by hand: inv = {{1/2, -1/8}, {0, 1/4}}.
  CHECK(numbers(twice) == Numbers{0.375, 0.03125});
  CHECK_THROWS_WITH_AS(eigen::sparse_solver(sparse_of(Eigen::MatrixXd::Zero(2, 2))),
                       "eigen::sparse_solver: the matrix is singular", ValueError);
  CHECK_THROWS_AS(eigen::sparse_solver(sparse_of(Eigen::MatrixXd::Ones(2, 3))), ShapeError);
}

BOTH_MODES("an operator of one's own fills its result through Eigen") {
  using T = Tensor<Mode>;
  const CustomOp inverse =
      custom_op({.name = "inverse",
                 .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                 .host = [](HostInputs in,
                            HostResults out) { eigen::view<double>(out[0]) = eigen::view<double>(in[0]).inverse(); }});
  const T x = T{{2.0, 0.0}, {0.0, 4.0}}.astype(DType::f64);
  CHECK(numbers(inverse(x)) == Numbers{0.5, 0, 0, 0.25});
}
