// Products of a matrix with its own transpose, which compute half of what they give, and of matrices with columns.
#include <doctest/doctest.h>

#include "tests/support/numbers.hpp"
#include "tyto/indexing.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace gram_test {

using namespace tyto;

namespace {

template <class M>
Tensor<M> waves(const Shape& shape, DType dtype) {
  const Tensor<M> x = Tensor<M>::arange(element_count(shape)).astype(DType::f64);
  return (remainder(x * 37, 101.0) - 50.0).reshape(shape).astype(dtype);
}

}  // namespace

TEST_CASE_TEMPLATE("a matrix by its own transpose is what the product with a copy is, and symmetric", M, Eager, Lazy) {
  // Integers, whose sums are exact whatever their order.
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t columns : {191, 192, 300, 515}) {
      const Tensor<M> x = waves<M>({130, columns}, dtype), other = copy(x * 1.0);
      const Tensor<M> product = matmul(x.T(), x), wanted = matmul(other.T(), x);
      CHECK(all(equal(product, wanted)).template item<bool>());
      CHECK(all(equal(product, product.T())).template item<bool>());
      const Tensor<M> rows = waves<M>({columns, 97}, dtype);
      CHECK(all(equal(matmul(rows, rows.T()), matmul(copy(rows * 1.0), rows.T()))).template item<bool>());
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

}  // namespace gram_test
