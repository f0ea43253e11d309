// SPDX-License-Identifier: MIT
// Batches of products that are computed as one: the rows of all matrices by one matrix on the right.
#include <doctest/doctest.h>

#include <string_view>

#include "devices/cpu/products/matmul/matmul.hpp"

namespace tyto::cpu {

namespace {

/// `count` matrices of `m` rows in a row, by one matrix.
MatmulProblem batch_of(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  MatmulProblem problem = dense_matmul(DType::f32, m, n, k);
  problem.batch = {count};
  problem.a.batch_strides = {m * k};
  problem.b.batch_strides = {0};
  problem.c.batch_strides = {m * n};
  return problem;
}

}  // namespace

TEST_CASE("a batch of products with one matrix on the right is the product of all rows") {
  for (const Implementation implementation : {Implementation::automatic, Implementation::own}) {
    for (const std::int64_t m : {1, 5, 8}) {
      CAPTURE(m);
      const KernelChoice choice{implementation, std::nullopt, 0};
      const Matmul batch = prepare_matmul(batch_of(64, m, 300, 200), choice);
      const Matmul whole = prepare_matmul(dense_matmul(DType::f32, 64 * m, 300, 200), choice);
      CHECK(std::string_view(batch.implementation()) == whole.implementation());
      CHECK(batch.workspace_bytes() == whole.workspace_bytes());
    }
  }
}

}  // namespace tyto::cpu
