// SPDX-License-Identifier: MIT
// Matrix products of integers and booleans, which are exact.
#include "devices/cpu/system/thread_limit.hpp"
#include "tests/devices/cpu/matmul_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

// Extremes alone, or any bytes.
template <class T>
void draw_bytes(Fenced<T>& bytes, bool extremes, Draw& draw) {
  constexpr std::int64_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (std::int64_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<T>(extremes ? draw.of({low, high, high, low + 1}) : low + draw.below(256));
  }
}

/// Sums that the least 32 bits of sums in 64 are compared with; nothing where the path declines.
template <class A>
void check_bytes(MatmulProblem problem, const std::array<Placement, 3>& placed, const Path& path, bool extremes,
                 Draw& draw) {
  problem.dtype = DType::i32;
  problem.bytes = dtype_of<A>;
  Fenced<A> a(placed[0].elements);
  Fenced<std::int8_t> b(placed[1].elements);
  Fenced<std::int32_t> c(placed[2].elements);
  draw_bytes(a, extremes, draw);
  draw_bytes(b, extremes, draw);
  CAPTURE(path.name);
  CAPTURE(problem.m);
  CAPTURE(problem.n);
  CAPTURE(problem.k);
  CAPTURE(problem.packed_b);
  try {
    auto matmul = fenced(prepare_matmul, problem, path.choice);
    const void* right = b.data() + placed[1].origin;
    if (matmul.kernel.packed_bytes() != 0) {
      matmul.kernel.pack(right, matmul.packed.data());
      right = matmul.packed.data();
    }
    matmul.kernel.run(
        {a.data() + placed[0].origin, right, c.data() + placed[2].origin, nullptr, matmul.workspace.data()});
  } catch (const DeviceError&) {
    CHECK(path.name == "onednn");
    return;
  }
  std::int64_t points = 1, wrong = 0;
  for (const std::int64_t extent : problem.batch) points *= extent;
  for (std::int64_t point = 0; point < points; ++point) {
    const auto [at_a, at_b, at_c] = origins(problem, placed, point);
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t l = 0; l < problem.k; ++l) {
          sum += std::int64_t{a[at_a + i * problem.a.row_stride + l * problem.a.column_stride]} *
                 b[at_b + l * problem.b.row_stride + j * problem.b.column_stride];
        }
        wrong += c[at_c + i * problem.c.row_stride + j * problem.c.column_stride] != static_cast<std::int32_t>(sum);
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("products of bytes are exact sums of 32 bits, of any values in any layout by any code", A,
                   std::uint8_t, std::int8_t) {
  for (int number = 0; number < 120; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 41);
    MatmulProblem problem;
    problem.m = draw.of({0, 1, 1, 2, 3, 5, 12, 33, 70});
    problem.n = draw.of({0, 1, 2, 15, 16, 17, 63, 64, 65, 130});
    problem.k = draw.of({0, 1, 2, 3, 4, 5, 31, 63, 64, 65, 300, 700});
    for (std::int64_t rank = draw.below(4); rank > 1; --rank) problem.batch.push_back(draw.of({0, 1, 2, 3, 5}));
    const bool simple = draw.coin();
    const std::array<Placement, 3> placed{place(draw, problem.m, problem.k, problem.batch, true, simple),
                                          place(draw, problem.k, problem.n, problem.batch, true, simple),
                                          place(draw, problem.m, problem.n, problem.batch, false, simple)};
    problem.a = placed[0].layout;
    problem.b = placed[1].layout;
    problem.c = placed[2].layout;
    bool one_b = true;
    for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
      one_b = one_b && (problem.batch[axis] <= 1 || problem.b.batch_strides[axis] == 0);
    }
    problem.packed_b = one_b && draw.coin();
    CAPTURE(number);
    for (const Path& path : all_paths(static_cast<int>(1 + draw.below(3)))) {
      check_bytes<A>(problem, placed, path, number % 2 == 0, draw);
    }
  }
}

TEST_CASE("sums of products of bytes wrap round where they are long, packed or not") {
  for (const std::int64_t m : {1, 3}) {
    for (const bool packed : {false, true}) {
      Draw draw(42);
      constexpr std::int64_t n = 17, k = std::int64_t{1} << 17;
      MatmulProblem problem = dense_matmul(DType::i32, m, n, k);
      problem.packed_b = packed;
      const std::array<Placement, 3> placed{Placement{problem.a, 0, m * k}, Placement{problem.b, 0, k * n},
                                            Placement{problem.c, 0, m * n}};
      for (const Path& path : all_paths(2)) check_bytes<std::uint8_t>(problem, placed, path, true, draw);
    }
  }
}

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
