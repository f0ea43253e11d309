// SPDX-License-Identifier: MIT
// Matrix products of floating types, of every layout and code path, and what all products share.
#include <thread>

#include "devices/cpu/system/subnormals.hpp"
#include "tests/devices/cpu/matmul_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

/// Two rows and two columns whose elements alternate, as the parts of complex numbers do.
template <class T>
void check_pairs() {
  Draw draw(11);
  for (const std::int64_t k : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 129, 700}) {
    MatmulProblem problem;
    problem.dtype = dtype_of<T>;
    problem.m = problem.n = 2;
    problem.k = k;
    problem.batch = {3};
    problem.bias = draw.coin();
    problem.accumulate = draw.coin();
    problem.limits = drawn_limits(draw);
    problem.a = {1, 2, {draw.coin() ? 2 * k : 0}};
    problem.b = {2, 1, {2 * k}};
    problem.c = {2, 1, {4}};
    const std::array<Placement, 3> placed{Placement{problem.a, 0, 6 * k}, Placement{problem.b, 0, 6 * k},
                                          Placement{problem.c, 0, 12}};
    for (const Path& path : own_paths(2)) {
      CAPTURE(k);
      CAPTURE(path.name);
      check_matmul<T>(problem, placed, path.choice, draw);
    }
  }
}

}  // namespace

TEST_CASE("products of two rows with two columns whose elements alternate are right for any length") {
  check_pairs<float>();
  check_pairs<double>();
}

TEST_CASE("f32 products are right for drawn shapes, layouts, batches and endings on every code path") {
  check_drawn_matmuls<float>(150);
}

TEST_CASE("products within a parallel region of the program are whole") { check_drawn_matmuls<float>(60, true); }

TEST_CASE("products within a parallel region take subnormals for zeros where the caller does") {
  constexpr std::int64_t side = 192;
  const std::vector<float> a(side * side, 1e-20f), b(side * side, 1e-20f);
  MatmulProblem problem;
  problem.m = problem.n = problem.k = side;
  problem.a = problem.b = problem.c = {side, 1, {}};
  for (const Path& path : own_paths(2)) {
    CAPTURE(path.name);
    auto matmul = fenced(prepare_matmul, problem, path.choice);
    std::vector<float> c(side * side);
    const auto sum = [&] {
      matmul.kernel.run({a.data(), b.data(), c.data(), nullptr, matmul.workspace.data()});
      return std::ranges::count_if(c, [](float x) { return x != 0; });
    };
    run_team(2, [&](Team team) {
      if (team.member != 0) return;
      const std::uint64_t rules = arithmetic_rules();
      for (int turn = 0; turn < 3; ++turn) {
        CHECK(sum() == side * side);
        set_arithmetic_rules(without_subnormals(rules));
        const auto zeros = sum();
        set_arithmetic_rules(rules);
        CHECK(zeros == 0);
      }
    });
  }
}

TEST_CASE("f64 products are right for drawn shapes, layouts, batches and endings on every code path") {
  check_drawn_matmuls<double>(60);
}

TEST_CASE("f16 and bf16 products accumulate in f32 and round their sums once") {
  check_drawn_matmuls<Half>(40);
  check_drawn_matmuls<BFloat16>(40);
}

TEST_CASE("a product over no inner elements is its bias, or zero") {
  MatmulProblem problem = dense_matmul(DType::f32, 2, 3, 0);
  problem.bias = true;
  auto matmul = fenced(prepare_matmul, problem, KernelChoice{});
  Fenced<float> c(6);
  const float bias[3] = {1.0f, -2.0f, 3.0f};
  matmul.kernel.run({nullptr, nullptr, c.data(), bias, matmul.workspace.data()});
  for (int i = 0; i < 6; ++i) CHECK(c[i] == bias[i % 3]);
}

TEST_CASE("our own products are right in several blocks of the inner dimension, of narrow and wide results") {
  Draw draw(83);
  for (const std::int64_t n : {150, 2200}) {
    MatmulProblem p = dense_matmul(DType::f32, 61, n, 520);
    for (const bool transposed : {false, true}) {
      if (transposed) p.b = {.row_stride = 1, .column_stride = p.k};
      for (p.packed_b = false;; p.packed_b = true) {
        p.bias = p.accumulate = transposed != p.packed_b;
        const std::array<Placement, 3> placed = {{{p.a, 0, p.m * p.k}, {p.b, 0, p.k * p.n}, {p.c, 0, p.m * p.n}}};
        for (const int threads : {1, 2}) {
          p.dtype = DType::f32;
          check_matmul<float>(p, placed, {Implementation::own, {}, threads}, draw);
          p.dtype = DType::f64;
          check_matmul<double>(p, placed, {Implementation::own, {}, threads}, draw);
        }
        if (p.packed_b) break;
      }
    }
  }
}

TEST_CASE("our own f32 product gives the same bits for any number of threads") {
  const std::int64_t m = 97, n = 150, k = 900;
  Draw draw(7);
  Fenced<float> a(m * k), b(k * n), one(m * n), other(m * n);
  a.draw(draw);
  b.draw(draw);
  const auto run = [&](int count, Fenced<float>& c) {
    auto matmul =
        fenced(prepare_matmul, dense_matmul(DType::f32, m, n, k), KernelChoice{Implementation::own, {}, count});
    matmul.kernel.run({a.data(), b.data(), c.data(), nullptr, matmul.workspace.data()});
  };
  run(1, one);
  for (const int count : {2, 3, 5, 8}) {
    run(count, other);
    CHECK(std::memcmp(one.data(), other.data(), static_cast<std::size_t>(m * n) * sizeof(float)) == 0);
  }
}

TEST_CASE("dot products give the same bits however their columns are shared out") {
  const std::int64_t n = 23, k = 1000;
  Draw draw(8);
  Fenced<float> a(k), b(k * n), one(n), other(n);
  a.draw(draw);
  b.draw(draw);
  MatmulProblem problem = dense_matmul(DType::f32, 1, n, k);
  problem.b = {1, k, {}};
  const auto run = [&](int count, Fenced<float>& c) {
    prepare_matmul(problem, {Implementation::own, {}, count}).run({a.data(), b.data(), c.data(), nullptr, nullptr});
  };
  run(1, one);
  for (const int count : {2, 3, 5}) {
    run(count, other);
    CHECK(std::memcmp(one.data(), other.data(), static_cast<std::size_t>(n) * sizeof(float)) == 0);
  }
}

TEST_CASE("one prepared product serves several threads at once, each with a workspace of its own") {
  constexpr std::int64_t m = 13, n = 40, k = 30;
  constexpr int callers = 6;
  for (const Path& path : own_paths(1)) {
    CAPTURE(path.name);
    auto matmul = fenced(prepare_matmul, dense_matmul(DType::f32, m, n, k), path.choice);
    std::array<int, callers> wrong{};
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        // The left operand holds the caller's number, so sums of another caller would show.
        Fenced<float> a(m * k), b(k * n), c(m * n);
        for (std::int64_t i = 0; i < m * k; ++i) a[i] = static_cast<float>(caller + 1);
        for (std::int64_t i = 0; i < k * n; ++i) b[i] = 2.0f;
        FencedParts workspace(matmul.kernel.workspace());
        for (int run = 0; run < 50; ++run) {
          matmul.kernel.run({a.data(), b.data(), c.data(), nullptr, workspace.data()});
          for (std::int64_t i = 0; i < m * n; ++i) {
            wrong[static_cast<std::size_t>(caller)] += c[i] != static_cast<float>((caller + 1) * 2 * k);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : wrong) CHECK(count == 0);
  }
}

TEST_CASE("malformed products are refused with what was wrong") {
  CHECK_THROWS_WITH_AS(prepare_matmul(dense_matmul(DType::f32, -1, 2, 3)),
                       "matmul: extents must not be negative, got m=-1 n=2 k=3", ValueError);
  MatmulProblem problem = dense_matmul(DType::f32, 2, 2, 2);
  problem.batch = {3};
  CHECK_THROWS_WITH_AS(prepare_matmul(problem),
                       "matmul: every operand needs one batch stride an axis: 0 strides for 1 axes", ValueError);
  problem.a.batch_strides = problem.b.batch_strides = {4};
  problem.c.batch_strides = {0};
  CHECK_THROWS_WITH_AS(prepare_matmul(problem), "matmul: the result cannot be broadcast along batch axis 0",
                       ValueError);
  problem.c.batch_strides = {4};
  problem.packed_b = true;
  CHECK_THROWS_WITH_AS(prepare_matmul(problem),
                       "matmul: packed_b needs one b for the whole batch, but b varies along batch axis 0", ValueError);
  problem = dense_matmul(DType::i32, 2, 2, 2);
  problem.limits = relu_limits;
  CHECK_THROWS_WITH_AS(
      prepare_matmul(problem),
      "matmul: packed_b is for bytes and floating types, bias, accumulate and limits for these, not i32", ValueError);
}

}  // namespace tyto::cpu
