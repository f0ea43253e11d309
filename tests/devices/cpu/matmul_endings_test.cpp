// SPDX-License-Identifier: MIT
// Epilogues of matrix products (bias, residual, ReLU) give the bits of the operators one by one, NaN included.
#include "tests/devices/cpu/matmul_testing.hpp"

namespace tyto::cpu {

using namespace testing;

TEST_CASE("our own products end with the bits that adding and ReLU by themselves would give") {
  // In one part, and in several; a column, a row and a matrix.
  for (const auto& sizes : std::to_array<std::array<std::int64_t, 3>>(
           {{21, 75, 40}, {21, 75, 3000}, {33, 1, 40}, {33, 1, 3000}, {1, 75, 40}, {1, 75, 3000}})) {
    const std::int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    Draw draw(5);
    Fenced<float> a(m * k), b(k * n), bias(n), plain(m * n), ended(m * n);
    for (Fenced<float>* tensor : {&a, &b, &bias}) tensor->draw(draw);
    for (const Path& path : all_paths(2)) {
      if (!path.name.starts_with("own")) continue;
      CAPTURE(path.name);
      MatmulProblem problem = dense_matmul(DType::f32, m, n, k);
      const auto run = [&](Fenced<float>& c) {
        auto matmul = fenced(prepare_matmul, problem, path.choice);
        matmul.kernel.run({a.data(), b.data(), c.data(), bias.data(), matmul.workspace.data()});
      };
      run(plain);
      problem.bias = true;
      problem.limits = relu_limits;
      run(ended);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < plain.size(); ++i) wrong += ended[i] != std::max(plain[i] + bias[i % n], 0.0F);
      CHECK(wrong == 0);
    }
  }
}

namespace {

template <class T>
void check_half_endings(std::int64_t k) {
  // Longer rows than the tiles in which they are ended, and two matrices.
  const std::int64_t m = 9, n = 300, rows = 2 * m;
  Draw draw(6);
  Fenced<T> a(rows * k), b(2 * k * n), bias(n), residual(rows * n), plain(rows * n), ended(rows * n);
  for (Fenced<T>* tensor : {&a, &b, &bias, &residual}) tensor->draw(draw);
  for (const Path& path : all_paths(2)) {
    if (path.name == "onednn" && !(std::is_same_v<T, BFloat16> && has_bf16_products())) continue;
    CAPTURE(path.name);
    MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
    problem.batch = {2};
    problem.a.batch_strides = {m * k};
    problem.b.batch_strides = {k * n};
    problem.c.batch_strides = {m * n};
    const auto run = [&](Fenced<T>& c) {
      auto matmul = fenced(prepare_matmul, problem, path.choice);
      matmul.kernel.run({a.data(), b.data(), c.data(), bias.data(), matmul.workspace.data()});
    };
    run(plain);
    for (const bool with_bias : {false, true}) {
      for (const bool with_residual : {false, true}) {
        for (const bool with_relu : {false, true}) {
          problem.bias = with_bias;
          problem.accumulate = with_residual;
          problem.limits = with_relu ? relu_limits : Limits<double>{};
          for (std::int64_t i = 0; i < rows * n; ++i) ended[i] = residual[i];
          run(ended);
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < rows * n; ++i) {
            T want = plain[i];
            const auto add = [&](T summand) { want = T(static_cast<float>(want) + static_cast<float>(summand)); };
            if (with_bias) add(bias[i % n]);
            if (with_residual) add(residual[i]);
            if (with_relu) want = T(std::max(static_cast<float>(want), 0.0F));
            wrong += static_cast<float>(ended[i]) != static_cast<float>(want);
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("f16 and bf16 products end with the bits that adding and ReLU by themselves would give") {
  for (const std::int64_t k : {40, 3000}) {
    check_half_endings<Half>(k);
    check_half_endings<BFloat16>(k);
  }
}

TEST_CASE("not-a-number runs through a product and its relu") {
  for (const Path& path : own_paths(1)) {
    CAPTURE(path.name);
    MatmulProblem problem = dense_matmul(DType::f32, 1, 2, 2);
    problem.limits = relu_limits;
    auto matmul = fenced(prepare_matmul, problem, path.choice);
    const float a[2] = {0.0f, 1.0f}, b[4] = {std::numeric_limits<float>::infinity(), 1.0f, 1.0f, -4.0f};
    Fenced<float> c(2);
    matmul.kernel.run({a, b, c.data(), nullptr, matmul.workspace.data()});
    CHECK(std::isnan(c[0]));
    CHECK(c[1] == 0.0f);
  }
}

TEST_CASE("the ReLU of a bf16 product keeps NaN and makes 0 of what is below") {
  for (const Path& path : all_paths(1)) {
    CAPTURE(path.name);
    MatmulProblem problem = dense_matmul(DType::bf16, 2, 4, 1);
    problem.limits = relu_limits;
    problem.bias = true;
    const float infinity = std::numeric_limits<float>::infinity();
    const BFloat16 a[2] = {BFloat16(1.0f), BFloat16(-1.0f)},
                   b[4] = {BFloat16(2.0f), BFloat16(infinity), BFloat16(std::nanf("")), BFloat16(-3.0f)},
                   bias[4] = {BFloat16(0.5f), BFloat16(0.0f), BFloat16(0.0f), BFloat16(0.25f)};
    try {
      auto matmul = fenced(prepare_matmul, problem, path.choice);
      Fenced<BFloat16> c(8);
      matmul.kernel.run({a, b, c.data(), bias, matmul.workspace.data()});
      CHECK(as_double(c[0]) == 2.5);
      CHECK(as_double(c[1]) == static_cast<double>(infinity));
      CHECK(std::isnan(as_double(c[2])));
      CHECK(as_double(c[3]) == 0);
      CHECK(as_double(c[4]) == 0);
      CHECK(as_double(c[5]) == 0);
      CHECK(std::isnan(as_double(c[6])));
      CHECK(as_double(c[7]) == 3.25);
    } catch (const DeviceError&) {
      REQUIRE(path.name == "onednn");  // where the processor does not multiply bf16
    }
  }
}

}  // namespace tyto::cpu
