// SPDX-License-Identifier: MIT
// Matrix products that are not packed, small ones and those of one row: the bits of the register tile, for any layout,
// within their memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/products/matmul/matmul.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"
#include "tests/support/guarded_pages.hpp"

namespace tyto::cpu::unpacked_matmul_test {

using namespace testing;

namespace {

std::vector<KernelChoice> own_choices() {
  std::vector<KernelChoice> choices;
  for (const Path& path : all_paths(1)) {
    if (path.name.starts_with("own")) choices.push_back(path.choice);
  }
  return choices;
}

/// Packed weights go to the register tile, whatever the size.
template <class T>
void multiply_by_tile(MatmulProblem problem, const KernelChoice& choice, const T* a, const T* b, T* c, const T* bias) {
  problem.packed_b = true;
  auto matmul = fenced(prepare_matmul, problem, choice);
  matmul.kernel.pack(b, matmul.packed.data());
  matmul.kernel.run({a, matmul.packed.data(), c, bias, matmul.workspace.data()});
}

template <class T>
void check_bits() {
  Draw draw(3);
  std::int64_t wrong = 0, small = 0;
  for (int number = 0; number < 400; ++number) {
    // One row is taken in runs of columns.
    const std::int64_t m = draw.below(4) == 0 ? 1 : 1 + draw.below(14), k = 1 + draw.below(20);
    const std::int64_t n = 1 + draw.below(m == 1 ? 300 : 36);
    MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
    problem.bias = draw.coin();
    problem.accumulate = draw.coin();
    if (draw.coin()) problem.limits = {-0.5, 1};
    Fenced<T> a(m * k), b(k * n), bias(n), c(m * n);
    for (Fenced<T>* each : {&a, &b, &bias, &c}) each->draw(draw);
    // The right operand row by row, column by column, or with gaps; the left one either way.
    const std::int64_t gap = draw.below(3);
    Fenced<T> spread(k * n * 2);
    problem.b = gap == 0 ? MatrixLayout{n, 1, {}} : gap == 1 ? MatrixLayout{1, k, {}} : MatrixLayout{2 * n, 2, {}};
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t j = 0; j < n; ++j) {
        spread[l * problem.b.row_stride + j * problem.b.column_stride] = b[l * n + j];
      }
    }
    if (draw.coin()) problem.a = {1, m, {}};
    for (const KernelChoice& choice : own_choices()) {
      if (prepare_unpacked_matmul(problem, choice) == nullptr) continue;
      ++small;
      Fenced<T> found = c.copy(), expected = c.copy();
      prepare_unpacked_matmul(problem, choice)->run({a.data(), spread.data(), found.data(), bias.data(), nullptr});
      MatmulProblem dense = problem;
      dense.b = {n, 1, {}};
      multiply_by_tile(dense, choice, a.data(), b.data(), expected.data(), bias.data());
      for (std::int64_t i = 0; i < m * n; ++i) wrong += !same_bits(found[i], expected[i]);
    }
  }
  CHECK(wrong == 0);
  CHECK(small > 134 * static_cast<std::int64_t>(own_choices().size()));
}

template <class T>
void check_ends(std::int64_t m, std::int64_t most_columns) {
  for (std::int64_t n = 1; n <= most_columns; ++n) {
    const std::int64_t k = 2;
    tyto::testing::AtTheEnd<T> a(m * k), b(k * n), c(m * n), bias(n);
    for (std::int64_t i = 0; i < m * k; ++i) a.data()[i] = T(i + 1);
    for (std::int64_t i = 0; i < k * n; ++i) b.data()[i] = T(i);
    for (std::int64_t i = 0; i < n; ++i) bias.data()[i] = T(100 * i);
    MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
    problem.bias = problem.accumulate = true;
    for (const KernelChoice& choice : own_choices()) {
      const auto routine = prepare_unpacked_matmul(problem, choice);
      REQUIRE(routine != nullptr);
      for (std::int64_t i = 0; i < m * n; ++i) c.data()[i] = T(1);
      routine->run({a.data(), b.data(), c.data(), bias.data(), nullptr});
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          // (2 i + 1) j + (2 i + 2) (n + j), the bias and what was there.
          CHECK(c.data()[i * n + j] == T((2 * i + 1) * j + (2 * i + 2) * (n + j) + 100 * j + 1));
        }
      }
    }
  }
}

/// Integers, whose sums are exact; the row backwards, rows of the matrix with gaps, all of them up to where memory
/// ends.
template <class T>
void check_row(std::int64_t k, std::int64_t n, int threads) {
  const std::int64_t pitch = n + 3;
  tyto::testing::AtTheEnd<T> a(2 * k - 1), b((k - 1) * pitch + n), c(n), bias(n);
  const auto row = [](std::int64_t l) { return l % 7 - 3; };
  const auto matrix = [](std::int64_t l, std::int64_t j) { return (3 * l + 5 * j) % 11 - 4; };
  for (std::int64_t l = 0; l < k; ++l) {
    a.data()[2 * (k - 1 - l)] = T(row(l));
    for (std::int64_t j = 0; j < n; ++j) b.data()[l * pitch + j] = T(matrix(l, j));
  }
  for (std::int64_t j = 0; j < n; ++j) bias.data()[j] = T(j % 5);
  MatmulProblem problem = dense_matmul(dtype_of<T>, 1, n, k);
  problem.a.column_stride = -2;
  problem.b.row_stride = pitch;
  problem.bias = problem.accumulate = true;
  problem.limits = {-40, 50};
  for (KernelChoice choice : own_choices()) {
    choice.threads = threads;
    const auto routine = prepare_unpacked_matmul(problem, choice);
    REQUIRE(routine != nullptr);
    for (std::int64_t j = 0; j < n; ++j) c.data()[j] = T(2);
    routine->run({a.data() + 2 * (k - 1), b.data(), c.data(), bias.data(), nullptr});
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = j % 5 + 2;
      for (std::int64_t l = 0; l < k; ++l) sum += row(l) * matrix(l, j);
      wrong += c.data()[j] != T(std::min<std::int64_t>(std::max<std::int64_t>(sum, -40), 50));
    }
    CAPTURE(k);
    CAPTURE(n);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("a row by a matrix of any size is exact in integers, for any team") {
  for (const std::int64_t n : {1, 17, 33, 65, 511, 513, 1024, 1027, 2100}) {
    for (const std::int64_t k : {1, 7, 8, 9, 40, 511, 513, 1030}) {
      for (const int threads : {1, 3}) {
        check_row<float>(k, n, threads);
        check_row<double>(k, n, threads);
      }
    }
  }
}

TEST_CASE("a long row adds up in parts, so that what is small beside the sum counts") {
  // 2^24 first, then ones: beside the sum each by itself would be rounded away.
  const std::int64_t k = 4096;
  for (const std::int64_t n : {1, 2, 3, 15, 16, 17, 32, 33, 48, 64, 70}) {
    CAPTURE(n);
    Fenced<float> a(k), b(k * n), c(n);
    for (std::int64_t l = 0; l < k; ++l) {
      a[l] = 1;
      for (std::int64_t j = 0; j < n; ++j) b[l * n + j] = l == 0 ? 0x1p24F : 1;
    }
    for (KernelChoice choice : own_choices()) {
      for (const int threads : {1, 2, 3}) {
        choice.threads = threads;
        CAPTURE(threads);
        prepare_unpacked_matmul(dense_matmul(DType::f32, 1, n, k), choice)->run({a.data(), b.data(), c.data()});
        // But for those of the first part, all ones: 4096 - 512.
        for (std::int64_t j = 0; j < n; ++j) CHECK(c[j] >= 0x1p24F + 3584);
      }
    }
  }
}

TEST_CASE("small products have the bits of the register tile for any layout of their operands") {
  check_bits<float>();
  check_bits<double>();
}

TEST_CASE("small products neither read nor write behind their matrices") {
  for (const auto& [m, columns] : {std::pair{3, 20}, {1, 140}}) {
    check_ends<float>(m, columns);
    check_ends<double>(m, columns);
  }
}

TEST_CASE("a batch of small products steps over every axis, repeated operands and members of a team") {
  // Batch (3, 2), the right operand the same along the second axis: c = a b with a = batch number, b = axis number.
  MatmulProblem problem = dense_matmul(DType::f32, 2, 3, 2);
  problem.batch = {3, 2};
  problem.a.batch_strides = {8, 4};
  problem.b.batch_strides = {12, 0};
  problem.c.batch_strides = {6, 18};
  for (const int count : {1, 4}) {
    for (const std::int64_t step : {std::int64_t{1}, std::int64_t{2}}) {  // where it lies, or copied
      Fenced<float> a(24), b(36), c(36);
      for (std::int64_t i = 0; i < 24; ++i) a[i] = static_cast<float>(i / 4 + 1);
      for (std::int64_t i = 0; i < 36; ++i) b[i] = static_cast<float>(i / 12 + 1);
      problem.b.row_stride = 3 * step;
      problem.b.column_stride = step;
      const auto routine = prepare_unpacked_matmul(problem, {Implementation::own, {}, count});
      REQUIRE(routine != nullptr);
      routine->run({a.data(), b.data(), c.data(), nullptr, nullptr});
      for (std::int64_t point = 0; point < 6; ++point) {
        const std::int64_t at = point / 2 * 6 + point % 2 * 18;
        for (std::int64_t i = 0; i < 6; ++i) {
          CHECK(c[at + i] == 2 * static_cast<float>(point + 1) * static_cast<float>(point / 2 + 1));
        }
      }
    }
  }
}

TEST_CASE("threads share out the rows of a product of few columns") {
  constexpr std::int64_t rows = 1001;
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t step : {std::int64_t{1}, std::int64_t{2}}) {  // where it lies, or copied
      MatmulProblem problem = dense_matmul(DType::f64, rows, 3, 2);
      problem.b = {3 * step, step, {}};
      problem.bias = problem.accumulate = true;
      problem.limits = {0, 12'000};
      Fenced<double> a(2 * rows), b(12), c(3 * rows);
      for (std::int64_t i = 0; i < 2 * rows; ++i) a[i] = static_cast<double>(i);
      for (std::int64_t i = 0; i < 12; ++i) b[i] = 0;
      for (std::int64_t j = 0; j < 3; ++j) b[j * step] = static_cast<double>(j + 1), b[(3 + j) * step] = 10;
      for (std::int64_t i = 0; i < 3 * rows; ++i) c[i] = static_cast<double>(-7 * i);
      const double bias[] = {100, 200, 300};
      const auto routine = prepare_unpacked_matmul(problem, {Implementation::own, {}, threads});
      REQUIRE(routine != nullptr);
      routine->run({a.data(), b.data(), c.data(), bias, nullptr});
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const auto product = static_cast<double>(2 * i * (j + 1) + 10 * (2 * i + 1));
          wrong += c[3 * i + j] != std::clamp(product - static_cast<double>(7 * (3 * i + j)) + bias[j], 0.0, 12'000.0);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("large, packed and integer products do not take the code of small ones") {
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f32, 4, 4, 4), {}) != nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f64, 8, 8, 8), {}) != nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f32, 1, 128, 128), {}) != nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f32, 1, 4096, 4096), {}) != nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f32, 256, 256, 256), {}) == nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f64, 100'000, 40, 40), {}) == nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::i32, 4, 4, 4), {}) == nullptr);
  CHECK(prepare_unpacked_matmul(dense_matmul(DType::f32, 4, 4, 0), {}) == nullptr);
  MatmulProblem packed = dense_matmul(DType::f32, 4, 4, 4);
  packed.packed_b = true;
  CHECK(prepare_unpacked_matmul(packed, {}) == nullptr);
}

TEST_CASE("few weights are not packed, however many rows there are") {
  const auto bytes = [](std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    core::ProductAttributes product;
    product.left = {rows, inner};
    product.weights = {inner, columns};
    return packed_bytes(core::OpId::matmul_epilogue, product, DType::f32);
  };
  CHECK(bytes(16, 4, 4) == 0);
  CHECK(bytes(5000, 16, 32) == 0);
  CHECK(bytes(256, 256, 256) >= 256 * 256 * 4);
  CHECK(bytes(256, 4096, 1) == 0);  // a row of the transposed product
}

}  // namespace tyto::cpu::unpacked_matmul_test
