// SPDX-License-Identifier: MIT
// <tyto/interop/armadillo.hpp>: column-major matrices shared both ways, in both modes.
#include <doctest/doctest.h>

#include <armadillo>
#include <type_traits>
#include <tyto/interop/armadillo.hpp>
#include <tyto/tyto.hpp>
#include <utility>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("a tensor is over an Armadillo matrix, vector or cube, without a copy") {
  using T = Tensor<Mode>;
  arma::mat m = {{1, 2, 3}, {4, 5, 6}};
  const T x = armadillo::borrow<T>(m);
  CHECK(x.shape() == Shape{2, 3});
  m(1, 0) = 40;
  CHECK(numbers(x) == Numbers{1, 2, 3, 40, 5, 6});
  const T transposed = x.T();
  if (std::is_same_v<Mode, Eager>) CHECK(transposed.template data<double>().data() == m.memptr());
  const arma::vec column{1, 2};
  const arma::rowvec row{1, 2};
  CHECK(numbers(armadillo::borrow<T>(column)) == Numbers{1, 2});
  CHECK(armadillo::borrow<T>(row).shape() == Shape{2});
  arma::cube cube(2, 1, 3);
  for (arma::uword k = 0; k < 3; ++k) cube.slice(k).fill(static_cast<double>(k));
  cube(1, 0, 2) = 9;
  const T c = armadillo::borrow<T>(cube);
  CHECK(c.shape() == Shape{2, 1, 3});
  CHECK(numbers(c) == Numbers{0, 1, 2, 0, 1, 9});
}

BOTH_MODES("a tensor keeps a matrix that is moved to it") {
  using T = Tensor<Mode>;
  arma::Mat<float> m(20, 30, arma::fill::ones);
  const float* const memory = m.memptr();
  const T x = armadillo::adopt<T>(std::move(m));
  const T transposed = x.T();
  if (std::is_same_v<Mode, Eager>) CHECK(transposed.template data<float>().data() == memory);
  CHECK(numbers(sum(x)) == Numbers{600});
}

BOTH_MODES("Armadillo reads a tensor's elements transposed where they lie, or as they are by a copy") {
  using T = Tensor<Mode>;
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}.astype(DType::f64) + 0.0;
  const arma::mat seen = armadillo::transposed_view<double>(x);
  CHECK(seen.n_rows == 3);
  CHECK(seen(0, 1) == 4);
  CHECK(armadillo::transposed_view<double>(x).memptr() == x.template data<double>().data());
  const arma::mat copy = armadillo::matrix<double>(x);
  CHECK(copy.n_rows == 2);
  CHECK(copy(1, 0) == 4);
  const T cube = T::zeros({1, 2, 3}, DType::f64);
  CHECK_THROWS_AS(armadillo::transposed_view<double>(cube), ShapeError);
}
