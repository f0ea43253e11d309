// SPDX-License-Identifier: MIT
// Random layouts of matrices, and the comparison of a code path with a triple loop in double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/matmul/matmul.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu::testing {

// A matrix batch in a buffer of its own; `origin` is the element that strides count from.
struct Placement {
  MatrixLayout layout;
  std::int64_t origin = 0;
  std::int64_t elements = 0;
};

// Row-major, column-major, rows with gaps, every second element, or rows from last to first.
inline Placement place(Draw& draw, std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& batch,
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

/// Where the three matrices of one point of the batch begin.
inline std::array<std::int64_t, 3> origins(const MatmulProblem& problem, const std::array<Placement, 3>& placed,
                                           std::int64_t point) {
  std::array<std::int64_t, 3> at{placed[0].origin, placed[1].origin, placed[2].origin};
  for (std::size_t axis = problem.batch.size(); axis-- > 0; point /= problem.batch[axis]) {
    const std::int64_t index = point % problem.batch[axis];
    at[0] += index * problem.a.batch_strides[axis];
    at[1] += index * problem.b.batch_strides[axis];
    at[2] += index * problem.c.batch_strides[axis];
  }
  return at;
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
    const auto [at_a, at_b, at_c] = origins(problem, placed, point);
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const std::int64_t target = at_c + i * problem.c.row_stride + j * problem.c.column_stride;
        written[static_cast<std::size_t>(target)] = 1;
        const auto element = [&](std::int64_t l) {
          return std::pair{a[at_a + i * problem.a.row_stride + l * problem.a.column_stride],
                           b[at_b + l * problem.b.row_stride + j * problem.b.column_stride]};
        };
        if constexpr (std::is_same_v<T, bool>) {
          bool want = false;
          for (std::int64_t l = 0; l < problem.k; ++l) want = want || (element(l).first && element(l).second);
          wrong += c[target] != want;
        } else if constexpr (std::is_integral_v<T>) {
          std::uint64_t sum = 0;
          for (std::int64_t l = 0; l < problem.k; ++l) {
            sum += static_cast<std::uint64_t>(element(l).first) * static_cast<std::uint64_t>(element(l).second);
          }
          wrong += c[target] != static_cast<T>(sum);
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
          if (problem.accumulate) add(as_double(before[target]));
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
inline Limits<double> drawn_limits(Draw& draw) {
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
    constexpr bool ends = !std::is_integral_v<T>, packs = std::is_same_v<T, float> || std::is_same_v<T, double>;
    problem.bias = ends && draw.coin();
    problem.accumulate = ends && draw.coin();
    if (ends) problem.limits = drawn_limits(draw);
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
    problem.packed_b = packs && one_b && draw.coin();
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

}  // namespace tyto::cpu::testing
