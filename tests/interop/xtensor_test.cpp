// SPDX-License-Identifier: MIT
// <tyto/interop/xtensor.hpp>: arrays and strided views shared both ways, in both modes.
#include <doctest/doctest.h>

#include <tyto/interop/xtensor.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>
#endif

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("a tensor is over an xtensor array or view, without a copy") {
  using T = Tensor<Mode>;
  xt::xarray<double> a = {{1, 2, 3}, {4, 5, 6}};
  const T x = xtensor::borrow<T>(a);
  CHECK(x.template data<double>().data() == a.data());
  a(1, 0) = 40;
  CHECK(numbers(x) == Numbers{1, 2, 3, 40, 5, 6});
  CHECK(numbers(xtensor::borrow<T>(xt::view(a, xt::all(), xt::range(1, 3)))) == Numbers{2, 3, 5, 6});
  const xt::xarray<float, xt::layout_type::column_major> columns = {{1, 2}, {3, 4}};
  CHECK(numbers(xtensor::borrow<T>(columns)) == Numbers{1, 2, 3, 4});
  const double* const memory = a.data();
  const T kept = xtensor::adopt<T>(std::move(a));
  CHECK(kept.template data<double>().data() == memory);
}

BOTH_MODES("xtensor reads a tensor's elements where they lie, and its expressions become tensors") {
  using T = Tensor<Mode>;
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}} + 0.0;
  const auto a = xtensor::view<float>(x);
  CHECK(a.data() == x.template data<float>().data());
  CHECK(a(1, 2) == 6);
  CHECK(xt::sum(a)() == 21);
  CHECK(numbers(xtensor::tensor<T>(a + a)) == Numbers{2, 4, 6, 8, 10, 12});
  CHECK(xtensor::tensor<T>(xt::sum(a, {0})).shape() == Shape{3});
}
