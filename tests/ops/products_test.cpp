// SPDX-License-Identifier: MIT
// Products of a matrix with its own transpose, of long vectors, of matrices with columns, and of computed operands.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/support/numbers.hpp"
#include "tyto/indexing.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace products_test {

using namespace tyto;

namespace {

template <class M>
Tensor<M> waves(const Shape& shape, DType dtype) {
  const Tensor<M> x = Tensor<M>::arange(element_count(shape)).astype(DType::f64);
  return (remainder(x * 37, 101.0) - 50.0).reshape(shape).astype(dtype);
}

}  // namespace

TEST_CASE_TEMPLATE("a matrix by its own transpose is symmetric, and what the product with a copy is", M, Eager, Lazy) {
  // Integers, whose sums are exact whatever their order.
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor<M> x = waves<M>({130, 191}, dtype), other = copy(x * 1.0);
    const Tensor<M> product = matmul(x.T(), x);
    CHECK(all(equal(product, matmul(other.T(), x))).template item<bool>());
    CHECK(all(equal(product, product.T())).template item<bool>());
    CHECK(all(equal(matmul(x, x.T()), matmul(other, x.T()))).template item<bool>());
  }
}

TEST_CASE_TEMPLATE("products of vectors of millions of numbers keep six digits", M, Eager, Lazy) {
  for (const std::int64_t length : {16384, 16385, 40'000, 2'000'001}) {
    CAPTURE(length);
    const Tensor<M> x = (waves<M>({6, length}, DType::f64) / 64.0 + 1.0).astype(DType::f32);
    const std::vector<float> numbers = x.template to_vector<float>();
    const auto wanted = [&](std::int64_t a, std::int64_t b) {
      double sum = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        sum += static_cast<double>(numbers[static_cast<std::size_t>(a * length + i)]) *
               static_cast<double>(numbers[static_cast<std::size_t>(b * length + i)]);
      }
      return sum;
    };
    CHECK(matmul(x(0), x(1)).template item<float>() == doctest::Approx(wanted(0, 1)).epsilon(1e-6));
    CHECK(matmul(x(2), x(2)).template item<float>() == doctest::Approx(wanted(2, 2)).epsilon(1e-6));
    if (length > 100'000) continue;
    // Rows by the columns of a transpose, a column more than are taken together, and what is added and limited at last.
    const Tensor<M> product = matmul(x(slice(0, 3)), x(slice(1, 6)).T());
    const Tensor<M> biased = clip(matmul(x(slice(0, 2)), x.T()) + waves<M>({6}, DType::f32), 0.0, 9000.0);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        CHECK(product(i, j).template item<float>() == doctest::Approx(wanted(i, j + 1)).epsilon(1e-6));
      }
    }
    for (std::int64_t j = 0; j < 6; ++j) {
      const double bias = static_cast<double>((37 * j) % 101 - 50);
      const double limited = std::clamp(wanted(1, j) + bias, 0.0, 9000.0);
      CHECK(biased(1, j).template item<float>() == doctest::Approx(limited).epsilon(1e-6));
    }
  }
}

TEST_CASE_TEMPLATE("a matrix by a column is the row by its transpose", M, Eager, Lazy) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    const Tensor<M> x = waves<M>({45, 70}, DType::f64).astype(dtype),
                    v = remainder(waves<M>({70}, DType::f64), 4.0).astype(dtype);
    const Tensor<M> wanted = sum(x.astype(DType::f64) * v.astype(DType::f64), 1);
    CHECK(all(equal(matmul(x, v).astype(DType::f64), wanted)).template item<bool>());
    const Tensor<M> column = reshape(v, {70, 1});
    CHECK(all(equal(matmul(x, column).astype(DType::f64), reshape(wanted, {45, 1}))).template item<bool>());
    CHECK(all(equal(matmul(copy(x.T()).T(), column), matmul(x, column))).template item<bool>());
  }
}

TEST_CASE("the inner product of what is computed element by element stores nothing of it and loses no digits") {
  using Lazily = Tensor<Lazy>;
  constexpr std::int64_t count = 1 << 22;
  const Lazily x = Lazily::full({count}, 0.6), y = Lazily::full({count}, 0.5);
  const auto apart = static_cast<double>(0.6F - 0.5F);
  auto squared = compile([](Lazily a, Lazily b) {
    const Lazily t = a - b;
    return dot(t.T(), t);
  });
  const auto sum = static_cast<double>(squared(x, y).item<float>());
  CHECK(sum / (apart * apart * static_cast<double>(count)) == doctest::Approx(1).epsilon(1e-6));
  CHECK(squared.plan().height < 10'000);
  auto rows = compile([](Lazily a, Lazily b) { return matmul(exp(a), matrix_transpose(b)); });
  const Lazily left = Lazily::zeros({64, 1, 512}), right = Lazily::ones({64, 1, 512});
  CHECK(rows(left, right).to_vector<float>() == std::vector<float>(64, 512));
  CHECK(rows.plan().height < 10'000);
}

}  // namespace products_test
