// SPDX-License-Identifier: MIT
// Matrix products of integers and booleans, which are exact.
#include "devices/cpu/system/thread_limit.hpp"
#include "tests/devices/cpu/matmul_testing.hpp"

namespace tyto::cpu {

using namespace testing;

TEST_CASE("integer products wrap round in their own type and booleans take any of and") {
  check_drawn_matmuls<std::uint8_t>(20);
  check_drawn_matmuls<std::int8_t>(20);
  check_drawn_matmuls<std::int16_t>(20);
  check_drawn_matmuls<std::int32_t>(60);
  check_drawn_matmuls<std::int64_t>(60);
  check_drawn_matmuls<std::uint32_t>(20);
  check_drawn_matmuls<bool>(20);
}

TEST_CASE("integer products by a right matrix larger than a cache are right, transposed or not") {
  Draw draw(37);
  for (const std::int64_t m : {1, 5, 6, 50}) {
    for (const bool transposed : {false, true}) {
      MatmulProblem problem = dense_matmul(DType::i32, m, 530, 515);
      if (transposed) problem.b = {1, 515, {}};
      const std::array<Placement, 3> placed{Placement{problem.a, 0, m * 515}, Placement{problem.b, 0, 515 * 530},
                                            Placement{problem.c, 0, m * 530}};
      CAPTURE(m);
      CAPTURE(transposed);
      for (const Path& path : own_paths(3)) {
        check_matmul<std::int32_t>(problem, placed, path.choice, draw);
      }
    }
  }
}

TEST_CASE("products of narrow integers and booleans are right over many rows and long sums, into columns too") {
  const auto check = []<class T>(T) {
    Draw draw(39);
    for (const std::int64_t m : {1, 3, 300}) {
      for (const bool transposed : {false, true}) {
        for (const std::int64_t batch : {1, 2}) {
          constexpr std::int64_t n = 70, k = 1100;
          MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
          if (transposed) problem.b = {1, k, {}};
          if (transposed) problem.c = {1, m, {}};
          problem.batch = {batch};
          problem.a.batch_strides = {m * k};
          problem.b.batch_strides = {k * n};
          problem.c.batch_strides = {m * n};
          const std::array<Placement, 3> placed{Placement{problem.a, 0, batch * m * k},
                                                Placement{problem.b, 0, batch * k * n},
                                                Placement{problem.c, 0, batch * m * n}};
          CAPTURE(m);
          CAPTURE(transposed);
          CAPTURE(batch);
          for (const Path& path : own_paths(2)) {
            check_matmul<T>(problem, placed, path.choice, draw);
          }
        }
      }
    }
  };
  check(std::uint8_t{});
  check(std::int16_t{});
  check(bool{});
  check(std::int64_t{});
}

TEST_CASE("integer products keep to their workspaces on fewer threads than they were prepared for") {
  const auto check = []<class T>(T, bool transposed) {
    constexpr std::int64_t m = 160, n = 70, k = 300;
    Draw draw(40);
    MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
    if (transposed) problem.c = {1, m, {}};
    const std::array<Placement, 3> placed{Placement{problem.a, 0, m * k}, Placement{problem.b, 0, k * n},
                                          Placement{problem.c, 0, m * n}};
    for (const int limit : {1, 2, 3}) {
      CAPTURE(limit);
      const int before = exchange_thread_limit(limit);
      for (const Path& path : own_paths(8)) {
        check_matmul<T>(problem, placed, path.choice, draw);
      }
      exchange_thread_limit(before);
    }
  };
  check(std::uint8_t{}, false);
  check(bool{}, false);
  check(std::int32_t{}, true);
}

TEST_CASE("products of booleans do not read results that they replace") {
  constexpr std::int64_t n = 40, k = 20;
  for (const std::int64_t m : {1, 50}) {
    Draw draw(41);
    Fenced<bool> a(m * k), b(k * n);
    a.draw(draw);
    b.draw(draw);
    for (const Path& path : own_paths(1)) {
      auto matmul = fenced(prepare_matmul, dense_matmul(DType::boolean, m, n, k), path.choice);
      Fenced<unsigned char> c(m * n);  // no truth values
      matmul.kernel.run({a.data(), b.data(), c.data(), nullptr, matmul.workspace.data()});
      std::int64_t wrong = 0;
      for (std::int64_t at = 0; at < m * n; ++at) {
        bool want = false;
        for (std::int64_t l = 0; l < k; ++l) want = want || (a[at / n * k + l] && b[l * n + at % n]);
        wrong += c[at] != static_cast<unsigned char>(want);
      }
      CAPTURE(m);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a product of narrow integers with few columns and short sums takes little workspace") {
  const MatmulProblem problem = dense_matmul(DType::u8, 256, 4, 4);
  for (const Path& path : own_paths(1)) {
    // Copies of both matrices and of the result, in 32 bits.
    CHECK(prepare_matmul(problem, path.choice).workspace().bytes() <= 4 * (4 * 4 + 256 * 4 + 256 * 4) + 64);
  }
}

TEST_CASE("integer products by a right matrix whose rows meet in few sets of a cache are right for any rows") {
  Draw draw(38);
  constexpr std::int64_t n = 1024, k = 300;  // rows 4096 bytes apart
  for (const std::int64_t m : {1, 7, 60, 150}) {
    MatmulProblem problem = dense_matmul(DType::i32, m, n, k);
    const std::array<Placement, 3> placed{Placement{problem.a, 0, m * k}, Placement{problem.b, 0, k * n},
                                          Placement{problem.c, 0, m * n}};
    CAPTURE(m);
    for (const Path& path : own_paths(3)) {
      check_matmul<std::int32_t>(problem, placed, path.choice, draw);
    }
  }
}

}  // namespace tyto::cpu
