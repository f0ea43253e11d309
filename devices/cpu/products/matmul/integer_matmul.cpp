// SPDX-License-Identifier: MIT
// Matrix products of integers (wrapping round in their own type) and booleans (any of and): of 32 and 64 bits by the
// loops of unpacked products, which read blocks of a right matrix whose rows are not contiguous, or do not fit into the
// cache together, from a copy, and few rows by a transposed one as dot products; else by plain loops.
#include <algorithm>

#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/wrapping_arithmetic.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

template <class T>
class IntegerMatmul final : public MatmulRoutine {
 public:
  using Arithmetic = WrappingArithmetic<T>;
  using Unsigned = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // where vectors multiply

  IntegerMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        loops_(unpacked_products<Unsigned>(choice.set())),
        b_row_(problem.packed_b ? problem.n : problem.b.row_stride),
        b_column_(problem.packed_b ? 1 : problem.b.column_stride) {
    if (problem.packed_b) packed_space_.reserve(static_cast<std::size_t>(problem.k * problem.n) * sizeof(T));
    const bool are_dots = b_row_ == 1 && problem.a.column_stride == 1;
    in_vectors_ = sizeof(T) >= 4 && problem.k > 0 && problem.n > 0 && problem.c.column_stride == 1;
    // Of plain loops the compiler makes vectors where elements lie side by side.
    const bool is_vector = in_vectors_ || are_dots || (b_column_ == 1 && problem.c.column_stride == 1);
    threads_ = matmul_threads(problem, choice, is_vector ? machine::vector_operations : machine::scalar_operations);
    if (!in_vectors_) return;
    // Each thread copies by itself, for its rows of one product of the batch.
    const std::int64_t shared = (batch_count(problem) * problem.m + threads_ - 1) / threads_;
    const std::int64_t rows = std::min(problem.m, shared);
    const std::int64_t lines = cached_lines();
    const bool is_crowded = b_column_ == 1 && problem.k > lines;
    // What is contiguous neither way has only elements one by one instead of a copy.
    const auto saved = [rows](double each) { return static_cast<double>(rows) * each; };
    const bool copies = b_column_ == 1 ? is_crowded && saved(machine::integer_copied_row) >= machine::integer_copy_along
                                       : !are_dots || saved(machine::integer_dot - machine::integer_block) >=
                                                          machine::integer_copy_across;
    in_dots_ = b_column_ != 1 && !copies;
    depth_ = is_crowded ? std::max(lines / 2, std::int64_t{unpacked_rows}) : problem.k;
    width_ = problem.n;
    if (!copies) return;
    width_ = std::int64_t{unpacked_vectors} * loops_.lanes;
    depth_ = machine::first_level_cache / 2 / (width_ * static_cast<std::int64_t>(sizeof(T)));
    copies_b_ = true;
    copies_ = space_.reserve_each(static_cast<std::size_t>(threads_),
                                  static_cast<std::size_t>(depth_ * width_) * sizeof(T), copies_stride_);
  }

  void pack(const void* b, void* packed) const override {
    const T* from = static_cast<const T*>(b);
    T* to = static_cast<T*>(packed);
    for (std::int64_t row = 0; row < problem_.k; ++row) {
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        *to++ = from[row * problem_.b.row_stride + column * problem_.b.column_stride];
      }
    }
  }

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t rows = batch_count(problem_) * problem_.m;
    run_team(threads_, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      for (std::int64_t row = mine.begin; row < mine.end;) {
        const std::int64_t point = row / problem_.m, first = row % problem_.m;
        const std::int64_t last = std::min(problem_.m, first + mine.end - row);
        const BatchOffsets offsets = batch_offsets(problem_, point);
        multiply(static_cast<const T*>(arguments.a) + offsets.a,
                 static_cast<const T*>(arguments.b) + (problem_.packed_b ? 0 : offsets.b),
                 static_cast<T*>(arguments.c) + offsets.c, static_cast<const T*>(arguments.bias), {first, last},
                 at<T>(arguments.workspace, copies_ + static_cast<std::size_t>(team.member) * copies_stride_));
        row += last - first;
      }
    });
  }

  const char* name() const noexcept override { return "own integers"; }

 private:
  void multiply(const T* a, const T* b, T* c, const T* bias, Range rows, T* copy) const noexcept {
    constexpr std::int64_t block = 64;  // rows of b kept in cache while all rows of a pass over them
    const MatmulProblem& p = problem_;
    const std::int64_t b_row = b_row_, b_column = b_column_, n = p.n;
    if constexpr (sizeof(T) >= 4) {
      if (in_vectors_) {
        multiply_in_vectors(a + rows.begin * p.a.row_stride, b, c + rows.begin * p.c.row_stride, bias, rows.size(),
                            copy);
        return limit(c, rows);
      }
    }
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        T value = p.accumulate ? to : T(0);
        if (p.bias) value = Arithmetic::plus(value, bias[j]);
        to = value;
      }
    }
    if (b_row == 1 && p.a.column_stride == 1) return finish_dots(a, b, c, rows, b_column);
    for (std::int64_t start = 0; start < p.k; start += block) {
      const std::int64_t stop = std::min(start + block, p.k);
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        for (std::int64_t l = start; l < stop; ++l) {
          const T x = a[i * p.a.row_stride + l * p.a.column_stride];
          const T* from = b + l * b_row;
          T* to = c + i * p.c.row_stride;
          if (b_column == 1 && p.c.column_stride == 1) {
            TYTO_INDEPENDENT
            for (std::int64_t j = 0; j < n; ++j) to[j] = Arithmetic::plus_product(to[j], x, from[j]);
          } else {
            for (std::int64_t j = 0; j < n; ++j) {
              T& sum = to[j * p.c.column_stride];
              sum = Arithmetic::plus_product(sum, x, from[j * b_column]);
            }
          }
        }
      }
    }
    limit(c, rows);
  }

  // How many rows of b the second-level cache holds: fewer the larger the power of two that divides their distance,
  // as they meet in so many fewer of its sets.
  std::int64_t cached_lines() const noexcept {
    const auto distance = static_cast<std::uint64_t>(b_row_) * sizeof(T);
    const auto power = static_cast<std::int64_t>(distance & (0 - distance));
    return machine::second_level_cache / std::clamp(power, machine::cache_line, machine::second_level_cache);
  }

  // By blocks of b that stay in cache while all rows of a pass over them, where need be by their copies.
  void multiply_in_vectors(const T* a, const T* b, T* c, const T* bias, std::int64_t rows, T* copy) const {
    const MatmulProblem& p = problem_;
    const auto as_unsigned = [](const T* from) { return reinterpret_cast<const Unsigned*>(from); };
    for (std::int64_t row = 0; row < p.k; row += depth_) {
      for (std::int64_t column = 0; column < p.n; column += width_) {
        const std::int64_t k = std::min(depth_, p.k - row), n = std::min(width_, p.n - column);
        const T* const block = b + row * b_row_ + column * b_column_;
        if (copies_b_) copy_block(block, k, n, copy);
        const auto multiply = in_dots_ ? loops_.dots : loops_.multiply;
        multiply({.m = rows,
                  .n = n,
                  .k = k,
                  .a = as_unsigned(a + row * p.a.column_stride),
                  .a_row = p.a.row_stride,
                  .a_column = p.a.column_stride,
                  .b = as_unsigned(copies_b_ ? copy : block),
                  .b_row = copies_b_  ? width_
                           : in_dots_ ? b_column_
                                      : b_row_,
                  .c = reinterpret_cast<Unsigned*>(c + column),
                  .c_row = p.c.row_stride,
                  .bias = p.bias && row == 0 ? as_unsigned(bias + column) : nullptr,
                  .accumulate = p.accumulate || row > 0});
      }
    }
  }

  // Along b's memory, whichever way it runs.
  void copy_block(const T* b, std::int64_t k, std::int64_t n, T* copy) const noexcept {
    if (b_column_ == 1) {
      for (std::int64_t row = 0; row < k; ++row) std::copy_n(b + row * b_row_, n, copy + row * width_);
      return;
    }
    for (std::int64_t column = 0; column < n; ++column) {
      const T* const from = b + column * b_column_;
      for (std::int64_t row = 0; row < k; ++row) copy[row * width_ + column] = from[row * b_row_];
    }
  }

  // Both run along the sums: each is added up by itself.
  void finish_dots(const T* a, const T* b, T* c, Range rows, std::int64_t b_column) const noexcept {
    const MatmulProblem& p = problem_;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const T* x = a + i * p.a.row_stride;
      for (std::int64_t j = 0; j < p.n; ++j) {
        const T* y = b + j * b_column;
        T sum(0);
        for (std::int64_t l = 0; l < p.k; ++l) sum = Arithmetic::plus_product(sum, x[l], y[l]);
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        to = Arithmetic::plus(to, sum);
      }
    }
    limit(c, rows);
  }

  void limit(T* c, Range rows) const noexcept {
    const MatmulProblem& p = problem_;
    if (!p.limits.any()) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        to = Arithmetic::limited(to, p.limits);
      }
    }
  }

  MatmulProblem problem_;
  UnpackedProducts<Unsigned> loops_;
  std::int64_t b_row_, b_column_;
  bool in_vectors_ = false, in_dots_ = false, copies_b_ = false;
  int threads_ = 1;
  std::int64_t depth_ = 0, width_ = 0;  // rows and columns of b at a time
  std::size_t copies_ = 0, copies_stride_ = 0;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_integer_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  return with_integer_type(problem.dtype, [&]<class T>() -> std::unique_ptr<MatmulRoutine> {
    return std::make_unique<IntegerMatmul<T>>(problem, choice);
  });
}

}  // namespace tyto::cpu
