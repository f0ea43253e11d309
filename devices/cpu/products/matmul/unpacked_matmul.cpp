// SPDX-License-Identifier: MIT
// Matrix products in f32 and f64 that read their operands where they lie: small ones, which are done before a larger
// product's tables and packed operands are made, and those of one row, which meets each element of the matrix once.
#include <algorithm>

#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

// Elements of a right operand whose columns are not contiguous: it is copied onto the stack.
constexpr std::int64_t most_copied = 512;

template <class T>
class UnpackedMatmul final : public MatmulRoutine {
 public:
  UnpackedMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        set_(choice.set()),
        threads_(matmul_threads(problem, choice, machine::vector_operations)),
        multiply_(unpacked_products<T>(set_).multiply),
        copies_(problem.b.column_stride != 1) {
    product_.k = problem.k;
    product_.a_row = problem.a.row_stride;
    product_.a_column = problem.a.column_stride;
    product_.b_row = copies_ ? problem.n : problem.b.row_stride;
    product_.c_row = problem.c.row_stride;
    product_.accumulate = problem.accumulate;
    product_.limits = problem.limits.as<T>();
    if (problem.batch.empty()) return;
    run_ = problem.batch.back();
    points_ = batch_count(problem);
    steps_ = {problem.a.batch_strides.back(), problem.b.batch_strides.back(), problem.c.batch_strides.back()};
  }

  void run(const MatmulArguments& arguments) const override {
    if (points_ == 1) return multiply_one(arguments);
    run_team(threads_, [&](Team team) {
      const Range mine = share(points_, team.member, team.size);
      // Along the last axis of the batch by steps.
      for (std::int64_t at = mine.begin; at < mine.end;) {
        const std::int64_t count = std::min(run_ - at % run_, mine.end - at);
        multiply(arguments, batch_offsets(problem_, at), count, {0, problem_.m}, {0, problem_.n});
        at += count;
      }
    });
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  // Rows are shared out, of one row its columns.
  void multiply_one(const MatmulArguments& arguments) const {
    const Range rows{0, problem_.m}, columns{0, problem_.n};
    if (threads_ == 1 || (problem_.m == 1 && copies_)) return multiply(arguments, {}, 1, rows, columns);
    constexpr std::int64_t line_elements = machine::cache_line / static_cast<std::int64_t>(sizeof(T));
    run_team(threads_, [&](Team team) {
      const bool by_rows = problem_.m > 1;
      const Range mine = share(by_rows ? problem_.m : problem_.n, team.member, team.size,
                               by_rows ? std::int64_t{unpacked_rows} : line_elements);
      if (mine.size() > 0) multiply(arguments, {}, 1, by_rows ? mine : rows, by_rows ? columns : mine);
    });
  }

  void multiply(const MatmulArguments& arguments, const BatchOffsets& first, std::int64_t count, Range rows,
                Range columns) const {
    T copy[most_copied];
    UnpackedProduct<T> p = product_;
    const T* b = static_cast<const T*>(arguments.b) + first.b + columns.begin;
    p.m = rows.size();
    p.n = columns.size();
    p.a = static_cast<const T*>(arguments.a) + first.a + rows.begin * p.a_row;
    p.b = copies_ ? copy : b;
    p.c = static_cast<T*>(arguments.c) + first.c + rows.begin * p.c_row + columns.begin;
    p.bias = problem_.bias ? static_cast<const T*>(arguments.bias) + columns.begin : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      if (copies_ && (i == 0 || steps_.b != 0)) copy_right(b, copy);
      multiply_(p);
      p.a += steps_.a;
      p.c += steps_.c;
      b += steps_.b;
      if (!copies_) p.b = b;
    }
  }

  void copy_right(const T* b, T* copy) const noexcept {
    for (std::int64_t row = 0; row < problem_.k; ++row, b += problem_.b.row_stride) {
      for (std::int64_t column = 0; column < problem_.n; ++column) *copy++ = b[column * problem_.b.column_stride];
    }
  }

  MatmulProblem problem_;
  InstructionSet set_;
  int threads_;
  void (*multiply_)(const UnpackedProduct<T>&);
  bool copies_;
  UnpackedProduct<T> product_;         // without addresses
  std::int64_t points_ = 1, run_ = 1;  // of the batch: in all, and along its last axis
  BatchOffsets steps_;                 // along that
};

std::int64_t parts(std::int64_t whole, std::int64_t part) noexcept { return (whole + part - 1) / part; }

// Cycles of all blocks of rows, with sums of at most so many vectors of columns in registers. Two multiply-adds begin
// in a cycle, and each sum waits four cycles for its last one.
double cycles_of_blocks(const MatmulProblem& problem, std::int64_t lanes, std::int64_t most_vectors, double begin) {
  const std::int64_t blocks = parts(problem.m, unpacked_rows), vectors = parts(problem.n, lanes);
  const double rows = static_cast<double>(problem.m) / static_cast<double>(blocks);
  const auto of = [&](std::int64_t count) {
    return begin + static_cast<double>(problem.k) * std::max(rows * static_cast<double>(count) / 2, 4.0);
  };
  double cycles = static_cast<double>(vectors / most_vectors) * of(most_vectors);
  if (vectors % most_vectors != 0) cycles += of(vectors % most_vectors);
  return static_cast<double>(blocks) * cycles;
}

// Estimated cycles of these loops for one matrix of the batch.
double own_cycles(const MatmulProblem& problem, std::int64_t lanes) {
  const double copying =
      problem.b.column_stride == 1 ? 0 : machine::unpacked_copy * static_cast<double>(problem.k * problem.n);
  return cycles_of_blocks(problem, lanes, unpacked_vectors, machine::unpacked_block) + copying;
}

// Estimated cycles of the routine that would be chosen otherwise, in which its setup dominates.
double other_cycles(const MatmulProblem& problem, std::int64_t lanes) {
  const auto k = static_cast<double>(problem.k), n = static_cast<double>(problem.n);
  if (is_dot_matmul(problem)) {
    const auto rest = static_cast<double>(problem.k % lanes), whole = static_cast<double>(problem.k / lanes);
    return static_cast<double>(problem.m) * n * (whole + (whole > 0 ? machine::dot_end : 0) + 2 * rest);
  }
  constexpr std::int64_t panel_vectors = 4;
  const double whole = machine::tile_call + cycles_of_blocks(problem, lanes, panel_vectors, machine::tile_block);
  if (problem.n % lanes == 0) return whole;
  // Columns that fill no vector are packed, and stored by parts of one.
  return whole + machine::tile_packed_row * k + machine::tile_partial_row * static_cast<double>(problem.m);
}

template <class T>
bool is_worth_it(const MatmulProblem& problem, const KernelChoice& choice) {
  if (problem.m == 1 && problem.b.column_stride == 1) return true;
  // Each block of rows reads b anew, from the first-level cache.
  if (problem.k * problem.n * static_cast<std::int64_t>(sizeof(T)) > machine::first_level_cache / 2) return false;
  const std::int64_t lanes = unpacked_products<T>(choice.set()).lanes;
  return own_cycles(problem, lanes) <= other_cycles(problem, lanes);
}

bool fits(const MatmulProblem& problem) {
  const bool has_work = problem.m > 0 && problem.n > 0 && problem.k > 0 && batch_count(problem) > 0;
  const bool reads = problem.b.column_stride == 1 || problem.k * problem.n <= most_copied;
  return has_work && reads && !problem.packed_b && problem.c.column_stride == 1;
}

template <class T>
std::unique_ptr<MatmulRoutine> prepare(const MatmulProblem& problem, const KernelChoice& choice) {
  if (!fits(problem) || !is_worth_it<T>(problem, choice)) return nullptr;
  return std::make_unique<UnpackedMatmul<T>>(problem, choice);
}

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_unpacked_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return prepare<double>(problem, choice);
  return problem.dtype == DType::f32 ? prepare<float>(problem, choice) : nullptr;
}

}  // namespace tyto::cpu
