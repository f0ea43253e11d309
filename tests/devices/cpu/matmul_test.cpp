// SPDX-License-Identifier: MIT
// Matrix products of every type, layout and code path against a triple loop in double precision.
#include <array>
#include <thread>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/matmul/matmul.hpp"
#include "devices/cpu/system/subnormals.hpp"
#include "devices/cpu/system/thread_limit.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

// A matrix batch in a buffer of its own; `origin` is the element that strides count from.
struct Placement {
  MatrixLayout layout;
  std::int64_t origin = 0;
  std::int64_t elements = 0;
};

// Row-major, column-major, rows with gaps, every second element, or rows from last to first.
Placement place(Draw& draw, std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& batch,
                bool may_repeat, bool simple) {
  Placement placed;
  const std::int64_t kind = simple ? draw.below(3) : draw.below(6);
  std::int64_t size = 0;
  if (kind == 0 || kind == 5) {
    placed.layout = {columns, 1, {}};
    size = rows * columns;
  } else if (kind == 1) {
    placed.layout = {1, rows, {}};
    size = rows * columns;
  } else if (kind == 2) {
    placed.layout = {columns + 3, 1, {}};
    size = rows * (columns + 3);
  } else if (kind == 3) {
    placed.layout = {2 * columns + 1, 2, {}};
    size = rows * (2 * columns + 1);
  } else {
    placed.layout = {-columns, 1, {}};
    size = rows * columns;
    placed.origin = std::max<std::int64_t>(rows - 1, 0) * columns;
  }
  placed.layout.batch_strides.assign(batch.size(), 0);
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    if (may_repeat && draw.below(3) == 0) continue;
    placed.layout.batch_strides[axis] = size;
    size *= std::max<std::int64_t>(batch[axis], 1);
  }
  placed.elements = std::max<std::int64_t>(size, 1);
  return placed;
}

template <class T>
void check_matmul(const MatmulProblem& problem, const std::array<Placement, 3>& placed, const KernelChoice& choice,
                  Draw& draw) {
  Fenced<T> a(placed[0].elements), b(placed[1].elements);
  Fenced<T> c(placed[2].elements), bias(problem.n);
  a.draw(draw);
  b.draw(draw);
  bias.draw(draw);
  if (problem.accumulate) c.draw(draw);
  const Fenced<T> before = c.copy();

  auto matmul = fenced(prepare_matmul, problem, choice);
  if (problem.packed_b) matmul.kernel.pack(b.data() + placed[1].origin, matmul.packed.data());
  const void* right = problem.packed_b ? static_cast<const void*>(matmul.packed.data()) : b.data() + placed[1].origin;
  matmul.kernel.run(
      {a.data() + placed[0].origin, right, c.data() + placed[2].origin, bias.data(), matmul.workspace.data()});

  std::vector<char> written(static_cast<std::size_t>(c.size()), 0);
  std::int64_t points = 1, wrong = 0;
  for (const std::int64_t extent : problem.batch) points *= extent;
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t at_a = placed[0].origin, at_b = placed[1].origin, at_c = placed[2].origin, rest = point;
    for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
      const std::int64_t index = rest % problem.batch[axis];
      rest /= problem.batch[axis];
      at_a += index * problem.a.batch_strides[axis];
      at_b += index * problem.b.batch_strides[axis];
      at_c += index * problem.c.batch_strides[axis];
    }
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const std::int64_t target = at_c + i * problem.c.row_stride + j * problem.c.column_stride;
        written[static_cast<std::size_t>(target)] = 1;
        const T old = before[target];
        const auto element = [&](std::int64_t l) {
          return std::pair{a[at_a + i * problem.a.row_stride + l * problem.a.column_stride],
                           b[at_b + l * problem.b.row_stride + j * problem.b.column_stride]};
        };
        if constexpr (std::is_same_v<T, bool>) {
          bool want = (problem.accumulate && old) || (problem.bias && bias[j]);
          for (std::int64_t l = 0; l < problem.k; ++l) want = want || (element(l).first && element(l).second);
          wrong += c[target] != want;
        } else if constexpr (std::is_integral_v<T>) {
          std::uint64_t sum = problem.accumulate ? static_cast<std::uint64_t>(old) : 0;
          if (problem.bias) sum += static_cast<std::uint64_t>(bias[j]);
          for (std::int64_t l = 0; l < problem.k; ++l) {
            sum += static_cast<std::uint64_t>(element(l).first) * static_cast<std::uint64_t>(element(l).second);
          }
          T want = static_cast<T>(sum);
          if (static_cast<double>(want) < problem.limits.low) want = static_cast<T>(problem.limits.low);
          if (static_cast<double>(want) > problem.limits.high) want = static_cast<T>(problem.limits.high);
          wrong += c[target] != want;
        } else {
          double want = 0, magnitude = 0, stored = 0;
          for (std::int64_t l = 0; l < problem.k; ++l) {
            const double term = as_double(element(l).first) * as_double(element(l).second);
            want += term;
            magnitude += std::abs(term);
          }
          const auto add = [&](double summand) {
            stored += std::abs(want);
            want += summand;
            magnitude += std::abs(summand);
          };
          if (problem.bias) add(as_double(bias[j]));
          if (problem.accumulate) add(as_double(old));
          want = problem.limits(want);
          wrong += !is_sum(c[target], want, magnitude, problem.k, stored);
        }
      }
    }
  }
  CHECK(wrong == 0);
  std::int64_t touched = 0;
  for (std::int64_t i = 0; i < c.size(); ++i) {
    touched += !written[static_cast<std::size_t>(i)] && !same_bits(c[i], before[i]);
  }
  CHECK_MESSAGE(touched == 0, "elements between the result's rows changed");
}

/// None, ReLU, an interval, or one end of it.
Limits<double> drawn_limits(Draw& draw) {
  const Limits<double> choices[] = {{}, relu_limits, {-2, 3}, {-Limits<double>::infinity, 1}};
  return choices[draw.below(4)];
}

/// Within: a parallel region of the program.
template <class T>
void check_drawn_matmuls(int cases, bool within = false) {
  for (int number = 0; number < cases; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 100 * static_cast<std::uint64_t>(dtype_of<T>));
    MatmulProblem problem;
    problem.dtype = dtype_of<T>;
    problem.m = draw.of({0, 1, 1, 2, 5, 6, 7, 12, 13, 31, 50});
    problem.n = draw.of({0, 1, 3, 8, 15, 16, 17, 33, 63, 64, 65, 130});
    problem.k = draw.of({0, 1, 2, 7, 16, 33, 100, 700});
    for (std::int64_t rank = draw.below(4); rank > 1; --rank) problem.batch.push_back(draw.of({0, 1, 2, 3, 5}));
    problem.bias = draw.coin();
    problem.accumulate = draw.coin();
    problem.limits = drawn_limits(draw);
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
    for (const Path& path : all_paths(static_cast<int>(1 + draw.below(3)))) {
      run_team(within ? 2 : 1, [&](Team team) {
        if (team.member != 0) return;
        CAPTURE(number);
        CAPTURE(path.name);
        try {
          check_matmul<T>(problem, placed, path.choice, draw);
        } catch (const DeviceError&) {
          CHECK(path.name == "onednn");  // it may decline; the automatic choice then takes our own code
        }
      });
    }
  }
}

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
      problem.bias = problem.accumulate = true;
      problem.limits = {-2e9, 1e9};
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
        for (const bool ends : {true, false}) {
          constexpr std::int64_t n = 70, k = 1100;
          const std::int64_t batch = ends ? 1 : 2;
          MatmulProblem problem = dense_matmul(dtype_of<T>, m, n, k);
          problem.bias = problem.accumulate = ends;
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
          CAPTURE(ends);
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
    problem.bias = problem.accumulate = true;
    const std::array<Placement, 3> placed{Placement{problem.a, 0, m * k}, Placement{problem.b, 0, k * n},
                                          Placement{problem.c, 0, m * n}};
    CAPTURE(m);
    for (const Path& path : own_paths(3)) {
      check_matmul<std::int32_t>(problem, placed, path.choice, draw);
    }
  }
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
}

TEST_CASE("the thread count is what was set, and never below one") {
  const int before = threads();
  set_threads(3);
  CHECK(threads() == 3);
  CHECK_THROWS_WITH_AS(set_threads(0), "threads: the count must be from 1 to 1024, got 0", ValueError);
  CHECK(threads() == 3);
  CHECK(threads_for(1000.0) == 1);
  CHECK(threads_for(1e9) == 3);
  set_threads(before);
}

}  // namespace tyto::cpu
