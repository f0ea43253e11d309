// SPDX-License-Identifier: MIT
// Products of at most four rows with a transposed matrix in f32 and f64: dot products that read the matrix once. So
// are those of two rows with two columns whose elements alternate, of which dot products of complex numbers are made.
#include <algorithm>
#include <array>
#include <optional>

#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

/// Steps that one chain of additions in each lane covers. Longer sums are added up by halves, since a chain of millions
/// of additions loses two digits.
std::int64_t longest_chain(InstructionSet set) { return set == InstructionSet::baseline ? 1 << 12 : 1 << 14; }

/// Elements from one point of the batch to the next.
struct BatchSteps {
  std::int64_t a = 0, b = 0, c = 0;
};

/// The steps of a batch whose matrices lie at one distance from each other; empty for others.
std::optional<BatchSteps> steps_of_batch(const MatmulProblem& problem) {
  const auto step = [&](const MatrixLayout& layout) -> std::optional<std::int64_t> {
    std::optional<std::int64_t> innermost;
    std::int64_t next = 0;
    for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
      if (problem.batch[axis] == 1) continue;
      const std::int64_t stride = layout.batch_strides[axis];
      if (innermost && stride != next) return {};
      if (!innermost) innermost = stride;
      next = stride * problem.batch[axis];
    }
    return innermost;
  };
  const auto a = step(problem.a), b = step(problem.b), c = step(problem.c);
  if (!a || !b || !c) return {};
  return BatchSteps{*a, *b, *c};
}

/// Both rows and both columns in one pass over the elements.
bool is_of_pairs(const MatmulProblem& problem) noexcept {
  return problem.m == 2 && problem.n == 2 && !problem.packed_b && problem.a.row_stride == 1 &&
         problem.a.column_stride == 2 && problem.b.row_stride == 2 && problem.b.column_stride == 1;
}

template <class T>
class DotMatmul final : public MatmulRoutine {
 public:
  DotMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        set_(choice.set()),
        threads_(matmul_threads(problem, choice, machine::vector_operations)),
        pairs_(is_of_pairs(problem)) {
    if (problem.m == 1 && problem.n == 1 && !problem.bias) steps_ = steps_of_batch(problem);
    if (steps_ && steps_->a == 0) steps_.reset();
  }

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t batches = batch_count(problem_);
    run_team(threads_, [&](Team team) {
      if (pairs_) {
        const Range mine = share(batches, team.member, team.size);
        for (std::int64_t point = mine.begin; point < mine.end; ++point) multiply_pairs(arguments, point);
        return;
      }
      // Columns of all points of the batch, shared out as one sequence.
      const Range mine = share(batches * problem_.n, team.member, team.size, 4);
      if (steps_) return multiply_points(arguments, mine);
      for (std::int64_t at = mine.begin; at < mine.end;) {
        const std::int64_t first = at % problem_.n, count = std::min(problem_.n - first, mine.end - at);
        multiply(arguments, at / problem_.n, first, count);
        at += count;
      }
    });
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  void multiply(const MatmulArguments& arguments, std::int64_t point, std::int64_t first,
                std::int64_t count) const noexcept {
    const BatchOffsets offsets = batch_offsets(problem_, point);
    const T* rows[dot_rows];
    std::int64_t c_offsets[dot_rows];
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      rows[row] = static_cast<const T*>(arguments.a) + offsets.a + row * problem_.a.row_stride;
      c_offsets[row] = row * problem_.c.row_stride;
    }
    DotArguments<T> t = common_arguments();
    t.rows = rows;
    t.b = static_cast<const T*>(arguments.b) + offsets.b + first * problem_.b.column_stride;
    t.b_step = problem_.b.column_stride;
    t.columns = count;
    t.c = static_cast<T*>(arguments.c) + offsets.c + first;
    t.c_offsets = c_offsets;
    t.bias = problem_.bias ? static_cast<const T*>(arguments.bias) + first : nullptr;
    multiply(t);
  }

  /// One product of a row and a column for each point, as one call.
  void multiply_points(const MatmulArguments& arguments, Range points) const noexcept {
    const T* const row = static_cast<const T*>(arguments.a) + points.begin * steps_->a;
    constexpr std::int64_t no_offset = 0;
    DotArguments<T> t = common_arguments();
    t.rows = &row;
    t.row_step = steps_->a;
    t.b = static_cast<const T*>(arguments.b) + points.begin * steps_->b;
    t.b_step = steps_->b;
    t.columns = points.end - points.begin;
    t.c = static_cast<T*>(arguments.c) + points.begin * steps_->c;
    t.c_step = steps_->c;
    t.c_offsets = &no_offset;
    multiply(t);
  }

  static constexpr std::int64_t together = 4;  // columns, as the loops of the tiles take them
  using Sums = std::array<T, dot_rows * together>;

  void multiply(const DotArguments<T>& t) const noexcept {
    if (t.steps <= longest_chain_) return tiles<T>(set_).dots(t);
    for (std::int64_t first = 0; first < t.columns; first += together) {
      const std::int64_t count = std::min(t.columns - first, together);
      const Sums sums = sums_by_halves(t, {first, first + count}, {0, t.steps});
      for (int row = 0; row < t.row_count; ++row) {
        for (std::int64_t j = 0; j < count; ++j) {
          T& to = t.c[t.c_offsets[row] + (first + j) * t.c_step];
          T value = sums[static_cast<std::size_t>(row * together + j)];
          if (t.bias != nullptr) value += t.bias[first + j];
          if (t.accumulate) value += to;
          to = t.limits(value);
        }
      }
    }
  }

  Sums sums_by_halves(const DotArguments<T>& t, Range columns, Range steps) const noexcept {
    Sums sums{};
    if (steps.size() > longest_chain_) {
      const std::int64_t middle =
          steps.begin + (steps.size() / 2 + longest_chain_ - 1) / longest_chain_ * longest_chain_;
      sums = sums_by_halves(t, columns, {steps.begin, middle});
      const Sums rest = sums_by_halves(t, columns, {middle, steps.end});
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += rest[i];
      return sums;
    }
    constexpr std::int64_t lines[dot_rows] = {0, together, 2 * together, 3 * together};
    const T* rows[dot_rows];
    for (int row = 0; row < t.row_count; ++row) rows[row] = t.rows[row] + columns.begin * t.row_step + steps.begin;
    DotArguments<T> part;
    part.rows = rows;
    part.row_count = t.row_count;
    part.row_step = t.row_step;
    part.b = t.b + columns.begin * t.b_step + steps.begin;
    part.b_step = t.b_step;
    part.steps = steps.size();
    part.columns = columns.size();
    part.c = sums.data();
    part.c_offsets = lines;
    tiles<T>(set_).dots(part);
    return sums;
  }

  void multiply_pairs(const MatmulArguments& arguments, std::int64_t point) const noexcept {
    const BatchOffsets offsets = batch_offsets(problem_, point);
    T products[4];
    tiles<T>(set_).pairs(static_cast<const T*>(arguments.a) + offsets.a, static_cast<const T*>(arguments.b) + offsets.b,
                         problem_.k, products);
    T* const c = static_cast<T*>(arguments.c) + offsets.c;
    const T* const bias = static_cast<const T*>(arguments.bias);
    const Limits<T> limits = problem_.limits.as<T>();
    for (std::int64_t i = 0; i < 4; ++i) {
      T& to = c[i / 2 * problem_.c.row_stride + i % 2 * problem_.c.column_stride];
      T value = products[i];
      if (problem_.bias) value += bias[i % 2];
      if (problem_.accumulate) value += to;
      to = limits(value);
    }
  }

  DotArguments<T> common_arguments() const noexcept {
    DotArguments<T> t;
    t.row_count = static_cast<int>(problem_.m);
    t.steps = problem_.k;
    t.accumulate = problem_.accumulate;
    t.limits = problem_.limits.as<T>();
    return t;
  }

  MatmulProblem problem_;
  InstructionSet set_;
  std::int64_t longest_chain_ = longest_chain(set_);
  int threads_;
  bool pairs_;
  std::optional<BatchSteps> steps_;  // where each point is one product of a row and a column
};

}  // namespace

bool is_dot_matmul(const MatmulProblem& problem) noexcept {
  return problem.m > 0 && problem.m <= dot_rows && problem.n > 0 && !problem.packed_b && problem.b.row_stride == 1 &&
         problem.b.column_stride != 1 && problem.a.column_stride == 1 && problem.c.column_stride == 1;
}

std::unique_ptr<MatmulRoutine> prepare_dot_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  if (!is_dot_matmul(problem) && !is_of_pairs(problem)) return nullptr;
  if (problem.dtype == DType::f64) return std::make_unique<DotMatmul<double>>(problem, choice);
  if (problem.dtype == DType::f32) return std::make_unique<DotMatmul<float>>(problem, choice);
  return nullptr;
}

}  // namespace tyto::cpu
