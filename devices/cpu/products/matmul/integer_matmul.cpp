// SPDX-License-Identifier: MIT
// Matrix products of integers (wrapping round in their own type) and booleans (any of and) by the loops of unpacked
// products. They read blocks of a right matrix whose rows are not contiguous, or do not fit into the cache together,
// from a copy, and few rows by a transposed one as dot products. Of fewer than 32 bits all blocks are copies, in 32,
// and so they are of bytes whose sums have 32.
#include <algorithm>

#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/wrapping_arithmetic.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

template <class T, class A = T, class B = T>
class IntegerMatmul final : public MatmulRoutine {
 public:
  static constexpr std::int64_t rows_together = 256;  // that are converted at a time, and read each block of b
  using Arithmetic = WrappingArithmetic<T>;
  using Unsigned = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // in which products are added
  static constexpr bool is_narrow = sizeof(B) < sizeof(Unsigned);

  IntegerMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        loops_(unpacked_products<Unsigned>(choice.set())),
        b_row_(problem.b.row_stride),
        b_column_(problem.b.column_stride) {
    threads_ = matmul_threads(problem, choice, machine::vector_operations);
    // Each thread copies by itself, for its rows of one product of the batch.
    const std::int64_t shared = (batch_count(problem) * problem.m + threads_ - 1) / threads_;
    const std::int64_t rows = std::min(problem.m, shared);
    const std::int64_t lines = cached_lines();
    const bool are_dots = b_row_ == 1 && problem.a.column_stride == 1;
    const bool is_crowded = b_column_ == 1 && problem.k > lines;
    // A b that is contiguous along neither axis is copied: otherwise single elements would be read.
    const auto saved = [rows](double each) { return static_cast<double>(rows) * each; };
    const bool copies = b_column_ == 1 ? is_crowded && saved(machine::integer_copied_row) >= machine::integer_copy_along
                                       : !are_dots || saved(machine::integer_dot - machine::integer_block) >=
                                                          machine::integer_copy_across;
    in_dots_ = b_column_ != 1 && !copies;
    converts_ = is_narrow || problem.c.column_stride != 1;
    copies_b_ = copies || converts_;
    in_rows_ = is_narrow && b_column_ == 1 && problem.c.column_stride == 1 &&
               saved(machine::integer_row - machine::integer_block) < machine::integer_copy_along;
    if (in_rows_) return;
    depth_ = is_crowded ? std::max(lines / 2, std::int64_t{unpacked_rows}) : std::max(problem.k, std::int64_t{1});
    width_ = std::max(problem.n, std::int64_t{1});
    if (!copies_b_) return;
    width_ = in_dots_ ? 4 : std::int64_t{unpacked_vectors} * loops_.lanes;
    depth_ = machine::first_level_cache / 2 / (width_ * std::int64_t{sizeof(Unsigned)});
    width_ = std::min(width_, std::max(problem.n, std::int64_t{1}));
    depth_ = std::min(depth_, std::max(problem.k, std::int64_t{1}));
    rows_ = std::clamp(rows, std::int64_t{1}, rows_together);
    const std::int64_t a_and_c = converts_ ? rows_ * (depth_ + width_) : 0;
    copies_ =
        space_.reserve_each(static_cast<std::size_t>(threads_),
                            static_cast<std::size_t>(depth_ * width_ + a_and_c) * sizeof(Unsigned), copies_stride_);
  }

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t rows = batch_count(problem_) * problem_.m;
    run_team(threads_, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      for (std::int64_t row = mine.begin; row < mine.end;) {
        const std::int64_t point = row / problem_.m, first = row % problem_.m;
        const std::int64_t last = std::min(problem_.m, first + mine.end - row);
        const BatchOffsets offsets = batch_offsets(problem_, point);
        multiply(static_cast<const A*>(arguments.a) + offsets.a, static_cast<const B*>(arguments.b) + offsets.b,
                 static_cast<T*>(arguments.c) + offsets.c, {first, last},
                 at<Unsigned>(arguments.workspace, copies_ + static_cast<std::size_t>(team.member) * copies_stride_));
        row += last - first;
      }
    });
  }

  const char* name() const noexcept override { return "own integers"; }

 private:
  // Multiplies by blocks of b that stay in cache while rows of a pass over them.
  void multiply(const A* a, const B* b, T* c, Range rows, Unsigned* b_copy) const {
    const MatmulProblem& p = problem_;
    const auto as_unsigned = [](const auto* from) { return reinterpret_cast<const Unsigned*>(from); };
    if (converts_ || p.k == 0) {
      change(c + rows.begin * p.c.row_stride, rows.size(), p.n,
             [](const T&, std::int64_t, std::int64_t) { return T(0); });
    }
    if (in_rows_) add_rows(a, b, c, rows);
    const std::int64_t together = converts_ ? rows_ : rows.size();
    for (std::int64_t first = in_rows_ ? rows.end : rows.begin; first < rows.end; first += together) {
      const std::int64_t m = std::min(together, rows.end - first);
      Unsigned* const a_copy = converts_ ? b_copy + depth_ * width_ : nullptr;
      Unsigned* const c_copy = converts_ ? a_copy + m * depth_ : nullptr;
      for (std::int64_t row = 0; row < p.k; row += depth_) {
        const std::int64_t k = std::min(depth_, p.k - row);
        const A* const a_block = a + first * p.a.row_stride + row * p.a.column_stride;
        if (converts_) copy_block(a_block, p.a.row_stride, p.a.column_stride, m, k, a_copy, depth_);
        for (std::int64_t column = 0; column < p.n; column += width_) {
          const std::int64_t n = std::min(width_, p.n - column);
          const B* const b_block = b + row * b_row_ + column * b_column_;
          if (copies_b_ && in_dots_) copy_block(b_block, b_column_, b_row_, n, k, b_copy, depth_);
          if (copies_b_ && !in_dots_) copy_block(b_block, b_row_, b_column_, k, n, b_copy, width_);
          UnpackedProduct<Unsigned> block{.m = m,
                                          .n = n,
                                          .k = k,
                                          .a = a_copy,
                                          .a_row = depth_,
                                          .b = b_copy,
                                          .b_row = in_dots_ ? depth_ : width_,
                                          .c = c_copy,
                                          .c_row = width_};
          if (!copies_b_) {
            block.b = as_unsigned(b_block);
            block.b_row = in_dots_ ? b_column_ : b_row_;
          }
          if (!converts_) {
            block.a = as_unsigned(a_block);
            block.a_row = p.a.row_stride;
            block.a_column = p.a.column_stride;
            block.c = reinterpret_cast<Unsigned*>(c + first * p.c.row_stride + column);
            block.c_row = p.c.row_stride;
            block.accumulate = row > 0;
          }
          (in_dots_ ? loops_.dots : loops_.multiply)(block);
          if (!converts_) continue;
          change(c + first * p.c.row_stride + column * p.c.column_stride, m, n,
                 [c_copy, width = width_](T value, std::int64_t i, std::int64_t j) {
                   return Arithmetic::plus(value, static_cast<T>(c_copy[i * width + j]));
                 });
        }
      }
    }
  }

  // Makes m x n results from c on what `to` gives for each and its place. Results that it does not read may be
  // uninitialised.
  template <class To>
  void change(T* c, std::int64_t m, std::int64_t n, const To& to) const noexcept {
    const std::int64_t row_stride = problem_.c.row_stride, column_stride = problem_.c.column_stride;
    for (std::int64_t i = 0; i < m; ++i) {
      T* const row = c + i * row_stride;
      for (std::int64_t j = 0; j < n; ++j) row[j * column_stride] = to(row[j * column_stride], i, j);
    }
  }
  // A few rows take less time than a copy of b.
  void add_rows(const A* a, const B* b, T* c, Range rows) const noexcept {
    const MatmulProblem& p = problem_;
    const std::int64_t n = p.n;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      T* const to = c + i * p.c.row_stride;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const A x = a[i * p.a.row_stride + l * p.a.column_stride];
        const B* const from = b + l * b_row_;
        if constexpr (std::is_same_v<T, B>) {
          TYTO_INDEPENDENT
          for (std::int64_t j = 0; j < n; ++j) to[j] = Arithmetic::plus_product(to[j], x, from[j]);
        } else {
          loops_.add_bytes(reinterpret_cast<Unsigned*>(to), x, from, n);
        }
      }
    }
  }

  // How many rows of b the second-level cache holds: fewer the larger the power of two that divides their distance,
  // as they meet in so many fewer of its sets.
  std::int64_t cached_lines() const noexcept {
    const auto distance = static_cast<std::uint64_t>(b_row_) * sizeof(B);
    const auto power = static_cast<std::int64_t>(distance & (0 - distance));
    return machine::second_level_cache / std::clamp(power, machine::cache_line, machine::second_level_cache);
  }

  // Along the memory that is read, whichever way it runs.
  template <class From, class To>
  static void copy_block(const From* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                         std::int64_t columns, To* to, std::int64_t pitch) noexcept {
    using Stored = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;  // read so, a truth is a number
    const bool by_columns = row_stride == 1 && column_stride != 1;
    for (std::int64_t i = 0; i < (by_columns ? columns : rows); ++i) {
      const auto* const line = reinterpret_cast<const Stored*>(from) + i * (by_columns ? column_stride : row_stride);
      To* const copy = to + i * (by_columns ? 1 : pitch);
      const std::int64_t step = by_columns ? 1 : column_stride, copy_step = by_columns ? pitch : 1;
      for (std::int64_t j = 0; j < (by_columns ? rows : columns); ++j) {
        copy[j * copy_step] = static_cast<To>(line[j * step]);
      }
    }
  }

  MatmulProblem problem_;
  UnpackedProducts<Unsigned> loops_;
  std::int64_t b_row_, b_column_;
  bool in_rows_ = false, in_dots_ = false, copies_b_ = false, converts_ = false;
  int threads_ = 1;
  std::int64_t depth_ = 0, width_ = 0;  // rows and columns of b at a time
  // Rows of a that are converted at a time. A member of a smaller team than planned has more, but no larger space.
  std::int64_t rows_ = 0;
  std::size_t copies_ = 0, copies_stride_ = 0;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_integer_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  if (problem.bytes == DType::u8) {
    return std::make_unique<IntegerMatmul<std::int32_t, std::uint8_t, std::int8_t>>(problem, choice);
  }
  if (problem.bytes) return std::make_unique<IntegerMatmul<std::int32_t, std::int8_t, std::int8_t>>(problem, choice);
  return with_integer_type(problem.dtype, [&]<class T>() -> std::unique_ptr<MatmulRoutine> {
    return std::make_unique<IntegerMatmul<T>>(problem, choice);
  });
}

}  // namespace tyto::cpu
