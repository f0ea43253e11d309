// SPDX-License-Identifier: MIT
// Matrix products of f16 and bf16 through dense f32 copies in the workspace: sums are rounded once, at the end, and the
// epilogue rounds as separate operators do.
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/products/half_epilogues.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

// One operand as its elements are stored and as its f32 copy lies: dense, broadcast axes kept broadcast.
struct DenseCopy {
  std::vector<std::int64_t> extents;  // batch axes that step, then the two matrix axes, contiguous one last
  std::vector<std::int64_t> strides;
  MatrixLayout dense;
  std::int64_t elements = 1;
};

enum class Runs { as_stored, rows };

DenseCopy plan_copy(const MatmulProblem& problem, const MatrixLayout& layout, std::int64_t rows, std::int64_t columns,
                    Runs runs = Runs::as_stored) {
  DenseCopy copy;
  const bool by_columns = runs == Runs::as_stored && layout.row_stride == 1 && layout.column_stride != 1;
  copy.dense.row_stride = by_columns ? 1 : columns;
  copy.dense.column_stride = by_columns ? rows : 1;
  copy.elements = rows * columns;
  copy.dense.batch_strides.assign(problem.batch.size(), 0);
  for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
    if (layout.batch_strides[axis] == 0) continue;
    copy.dense.batch_strides[axis] = copy.elements;
    copy.elements *= problem.batch[axis];
  }
  for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
    if (layout.batch_strides[axis] == 0) continue;
    copy.extents.push_back(problem.batch[axis]);
    copy.strides.push_back(layout.batch_strides[axis]);
  }
  copy.extents.push_back(by_columns ? columns : rows);
  copy.strides.push_back(by_columns ? layout.column_stride : layout.row_stride);
  copy.extents.push_back(by_columns ? rows : columns);
  copy.strides.push_back(by_columns ? layout.row_stride : layout.column_stride);
  return copy;
}

// Calls run(stored offset, dense offset) for each innermost run in the team's share of a copy.
template <class Run>
void for_each_run(const DenseCopy& copy, Team team, const Run& run) noexcept {
  const std::int64_t length = copy.extents.back();
  if (copy.elements == 0) return;
  const Range mine = share(copy.elements / length, team.member, team.size);
  for (std::int64_t number = mine.begin; number < mine.end; ++number) {
    std::int64_t rest = number, offset = 0;
    for (std::size_t axis = copy.extents.size() - 1; axis-- > 0;) {
      offset += rest % copy.extents[axis] * copy.strides[axis];
      rest /= copy.extents[axis];
    }
    run(offset, number * length);
  }
}

class HalfMatmul final : public MatmulRoutine {
 public:
  HalfMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        a_(plan_copy(problem, problem.a, problem.m, problem.k)),
        b_(plan_copy(problem, problem.b, problem.k, problem.n)),
        c_(plan_copy(problem, problem.c, problem.m, problem.n, Runs::rows)),
        threads_(matmul_threads(problem, choice, machine::tile_operations)),
        inner_(prepare_panel_matmul(in_f32(), choice)) {
    a_offset_ = space_.reserve(floats(a_.elements));
    b_offset_ = space_.reserve(floats(b_.elements));
    c_offset_ = space_.reserve(floats(c_.elements));
    inner_offset_ = space_.reserve(inner_->workspace());
  }

  void run(const MatmulArguments& arguments) const override {
    float* a = at<float>(arguments.workspace, a_offset_);
    float* b = at<float>(arguments.workspace, b_offset_);
    float* c = at<float>(arguments.workspace, c_offset_);
    run_team(threads_, [&](Team team) {
      widen_copy(a_, arguments.a, a, team);
      widen_copy(b_, arguments.b, b, team);
    });
    inner_->run({a, b, c, nullptr, at<std::byte>(arguments.workspace, inner_offset_)});
    run_team(threads_, [&](Team team) {
      for_each_run(c_, team, [&](std::int64_t stored, std::int64_t dense) {
        std::uint16_t* const row = static_cast<std::uint16_t*>(arguments.c) + stored;
        const std::int64_t stride = c_.strides.back();
        const HalfEpilogue epilogue{problem_.dtype, problem_.bias ? arguments.bias : nullptr,
                                    problem_.accumulate ? row : nullptr, stride, problem_.limits.as<float>()};
        apply_half_epilogue(epilogue, c + dense, row, stride, 1, problem_.n);
      });
    });
  }

  const char* name() const noexcept override { return "own through f32"; }

 private:
  static std::size_t floats(std::int64_t count) noexcept { return static_cast<std::size_t>(count) * sizeof(float); }

  MatmulProblem in_f32() const {
    MatmulProblem problem = problem_;
    problem.dtype = DType::f32;
    problem.a = a_.dense;
    problem.b = b_.dense;
    problem.c = c_.dense;
    problem.bias = problem.accumulate = false;
    problem.limits = {};
    return problem;
  }

  void widen_copy(const DenseCopy& copy, const void* from, float* to, Team team) const noexcept {
    for_each_run(copy, team, [&](std::int64_t stored, std::int64_t dense) {
      widen(problem_.dtype, static_cast<const std::uint16_t*>(from) + stored, copy.strides.back(), to + dense,
            copy.extents.back());
    });
  }

  MatmulProblem problem_;
  DenseCopy a_, b_, c_;
  int threads_;
  std::unique_ptr<MatmulRoutine> inner_;
  std::size_t a_offset_ = 0, b_offset_ = 0, c_offset_ = 0, inner_offset_ = 0;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_half_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  return std::make_unique<HalfMatmul>(problem, choice);
}

}  // namespace tyto::cpu
