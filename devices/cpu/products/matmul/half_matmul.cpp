// SPDX-License-Identifier: MIT
// Matrix products of f16 and bf16 through dense f32 copies in the workspace: sums are rounded once, at the end. Weights
// that were packed are those of a product in f32.
#include "core/value/view.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

/// One operand as it is stored, in the order of its dense f32 copy, whose broadcast axes are broadcast too.
struct DenseCopy {
  StridedIterator<1> stored;
  MatrixLayout dense;
  std::size_t bytes;
};

DenseCopy plan_copy(const MatmulProblem& problem, const MatrixLayout& layout, std::int64_t rows, std::int64_t columns,
                    bool by_columns) {
  core::View stored;
  const auto add = [&](std::int64_t extent, std::int64_t stride) {
    stored.shape.push_back(extent);
    stored.strides.push_back(stride);
  };
  for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
    if (layout.batch_strides[axis] != 0) add(problem.batch[axis], layout.batch_strides[axis]);
  }
  if (by_columns) add(columns, layout.column_stride);
  add(rows, layout.row_stride);
  if (!by_columns) add(columns, layout.column_stride);
  MatrixLayout dense{by_columns ? 1 : columns, by_columns ? rows : 1};
  const Strides steps = core::row_major(stored.shape);
  for (std::size_t axis = 0, kept = 0; axis < problem.batch.size(); ++axis)
    dense.batch_strides.push_back(layout.batch_strides[axis] == 0 ? 0 : steps[kept++]);
  return {StridedIterator<1>({stored}), std::move(dense), static_cast<std::size_t>(stored.count()) * sizeof(float)};
}

bool lies_by_columns(const MatrixLayout& layout) { return layout.row_stride == 1 && layout.column_stride != 1; }

/// The product alone, without an epilogue.
class HalfMatmul final : public MatmulRoutine {
 public:
  HalfMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : dtype_(problem.dtype),
        a_(plan_copy(problem, problem.a, problem.m, problem.k, lies_by_columns(problem.a))),
        b_(plan_copy(problem, problem.b, problem.k, problem.n, lies_by_columns(problem.b))),
        c_(plan_copy(problem, problem.c, problem.m, problem.n, false)),
        threads_(matmul_threads(problem, choice, machine::tile_operations)) {
    MatmulProblem wide = problem;
    wide.dtype = DType::f32;
    wide.a = a_.dense;
    wide.b = b_.dense;
    wide.c = c_.dense;
    inner_ = prepare_panel_matmul(wide, choice);
    packed_space_ = inner_->packed();
    a_offset_ = space_.reserve(a_.bytes);
    if (!problem.packed_b) b_offset_ = space_.reserve(b_.bytes);
    c_offset_ = space_.reserve(c_.bytes);
    inner_offset_ = space_.reserve(inner_->workspace());
  }

  void run(const MatmulArguments& arguments) const override {
    float* a = at<float>(arguments.workspace, a_offset_);
    float* b = at<float>(arguments.workspace, b_offset_);
    float* c = at<float>(arguments.workspace, c_offset_);
    const bool packed = packed_space_.bytes() != 0;
    run_team(threads_, [&](Team team) {
      widen_copy(a_, arguments.a, a, team);
      if (!packed) widen_copy(b_, arguments.b, b, team);
    });
    inner_->run({a, packed ? arguments.b : b, c, nullptr, at<std::byte>(arguments.workspace, inner_offset_)});
    run_team(threads_, [&](Team team) {
      auto* const to = static_cast<std::uint16_t*>(arguments.c);
      each_run(c_, team, [&](Range dense, std::int64_t stored, std::int64_t step) {
        narrow(c + dense.begin, dtype_, to + stored, step, dense.size());
      });
    });
  }

  const char* name() const noexcept override { return "own through f32"; }

 private:
  template <class Run>
  static void each_run(const DenseCopy& copy, Team team, const Run& run) {
    copy.stored.each_row(share(copy.stored.count(), team.member, team.size),
                         [&](Range dense, const auto& stored, const auto& steps) { run(dense, stored[0], steps[0]); });
  }

  void widen_copy(const DenseCopy& copy, const void* from, float* to, Team team) const {
    each_run(copy, team, [&](Range dense, std::int64_t stored, std::int64_t step) {
      widen(dtype_, static_cast<const std::uint16_t*>(from) + stored, step, to + dense.begin, dense.size());
    });
  }

  DType dtype_;
  DenseCopy a_, b_, c_;
  int threads_;
  std::unique_ptr<MatmulRoutine> inner_;
  std::size_t a_offset_ = 0, b_offset_ = 0, c_offset_ = 0, inner_offset_ = 0;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_half_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  return add_half_epilogue(problem, choice, std::make_unique<HalfMatmul>(without_epilogue(problem), choice));
}

}  // namespace tyto::cpu
