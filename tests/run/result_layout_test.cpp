// SPDX-License-Identifier: MIT
// Results of element-wise operators in eager mode lie as their operands do; what reads them sees no difference.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>
#include <vector>

namespace result_layout_test {

using Tensor = tyto::Tensor<tyto::Eager>;
using tyto::all;
using tyto::slice;
using Numbers = std::vector<float>;

namespace {

Tensor counted(const tyto::Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  return Tensor::arange(count).astype(tyto::DType::f32).reshape(shape);
}

tyto::Strides strides(const Tensor& x) { return describe(x).layout->strides; }
Numbers numbers(const Tensor& x) { return x.astype(tyto::DType::f32).to_vector<float>(); }

}  // namespace

TEST_CASE("element-wise results take the layout that their operands share") {
  const Tensor a = counted({2, 3}), b = counted({2, 3}) * 10;
  const Tensor sum = a.T() + b.T();
  CHECK(strides(sum) == tyto::Strides{1, 3});
  CHECK(numbers(sum) == Numbers{0, 33, 11, 44, 22, 55});
  CHECK(strides(greater(a.T(), 2)) == tyto::Strides{1, 3});
  CHECK(strides(a.T().astype(tyto::DType::i32)) == tyto::Strides{1, 3});
  CHECK(numbers(a.T().astype(tyto::DType::i32)) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK(strides(where(greater(a.T(), 2), a.T(), b.T())) == tyto::Strides{1, 3});

  const Tensor c = counted({2, 3, 4});
  const Tensor turned = transpose(c, {1, 2, 0});
  CHECK(strides(exp(turned)) == tyto::Strides{4, 1, 12});
  CHECK(numbers(turned + turned) == numbers(copy(turned) * 2));
  // Operands that are stretched have no say.
  CHECK(strides(turned * Tensor{1.0, 2.0}) == tyto::Strides{4, 1, 12});
  CHECK(numbers(turned * Tensor{1.0, 2.0}) == numbers(copy(turned) * Tensor{1.0, 2.0}));
}

TEST_CASE("element-wise results are row-major where operands differ or lie in that order") {
  const Tensor square = counted({3, 3});
  CHECK(strides(square + square.T()) == tyto::Strides{3, 1});
  CHECK(numbers(square + square.T()) == Numbers{0, 4, 8, 4, 8, 12, 8, 12, 16});
  const Tensor row = counted({4}), column = counted({3, 1});
  CHECK(strides(row + column) == tyto::Strides{4, 1});
  CHECK(numbers(row + column) == Numbers{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5});
  CHECK(strides(counted({3, 4})(all, slice({}, {}, 2)) * 2) == tyto::Strides{2, 1});
  const Tensor reversed = counted({2, 3})(slice({}, {}, -1), slice({}, {}, -1));
  CHECK(strides(-reversed) == tyto::Strides{3, 1});
  CHECK(numbers(-reversed) == Numbers{-5, -4, -3, -2, -1, 0});
  CHECK(strides(copy(counted({2, 3}).T())) == tyto::Strides{2, 1});
  // Parts of transposed matrices have results without gaps.
  const Tensor part = counted({4, 6}).T()(slice(1, 5), slice({}, {}, 2));
  CHECK(strides(part + 0) == tyto::Strides{1, 4});
  CHECK(numbers(part + 0) == Numbers{1, 13, 2, 14, 3, 15, 4, 16});
  CHECK(numbers(counted({0, 3}).T() + 1).empty());
  CHECK(numbers(counted({1, 3}).T() + 1) == Numbers{1, 2, 3});
}

TEST_CASE("operators read permuted results as they read any view") {
  const Tensor a = counted({2, 3});
  const Tensor x = a.T() * 2;  // 0 6, 2 8, 4 10
  CHECK(numbers(x.reshape({2, 3})) == Numbers{0, 6, 2, 8, 4, 10});
  CHECK(numbers(ravel(x)) == Numbers{0, 6, 2, 8, 4, 10});
  CHECK(numbers(sum(x, {0})) == Numbers{6, 24});
  CHECK(numbers(sum(x, {1})) == Numbers{6, 10, 14});
  CHECK(sum(x).item<float>() == 30);
  CHECK(numbers(cumsum(x, 0)) == Numbers{0, 6, 2, 14, 6, 24});
  CHECK(numbers(argmax(x, 1)) == Numbers{1, 1, 1});
  CHECK(numbers(matmul(x, Tensor{{1.0, 0.0}, {0.0, 1.0}})) == numbers(x));
  CHECK(numbers(tyto::concat({x, x}, 1)) == Numbers{0, 6, 0, 6, 2, 8, 2, 8, 4, 10, 4, 10});
  CHECK(numbers(take(x, Tensor{2, 0}, 0)) == Numbers{4, 10, 0, 6});
  CHECK(numbers(sort(x, 1)) == Numbers{0, 6, 2, 8, 4, 10});
  CHECK(numbers(x(1)) == Numbers{2, 8});
  CHECK(x.data<float>()[1] == 6);

  Tensor written = a.T() * 2;
  written(1) = 9.0;
  written(0, 1) = 7.0;
  CHECK(numbers(written) == Numbers{0, 7, 9, 9, 4, 10});
  CHECK(numbers(x) == Numbers{0, 6, 2, 8, 4, 10});

  Tensor state = Tensor::variable(a.T() * 2);
  assign(state, state + a.T());
  CHECK(numbers(state) == Numbers{0, 9, 3, 12, 6, 15});
  const Tensor slope = tyto::grad([](Tensor w) { return sum(w.T() * w.T() * w.T()); })(a);
  CHECK(numbers(slope) == Numbers{0, 3, 12, 27, 48, 75});
}

}  // namespace result_layout_test
