// SPDX-License-Identifier: MIT
// Runs a planned loop block by block: each thread opens the runners of all stages, then passes its rows through them.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/row_plan.hpp"

namespace tyto::cpu {

namespace {

class RowKernel final : public core::Kernel {
 public:
  explicit RowKernel(RowPlan plan) : plan_(std::move(plan)) {
    if (plan_.rows > 1) team_ = team_for(plan_.nanoseconds);
    buffers_ = std::clamp<std::int64_t>(team_.count, 1, std::max<std::int64_t>(plan_.rows, 1));
  }

  std::size_t workspace() const override { return plan_.buffers * static_cast<std::size_t>(buffers_); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    if (plan_.rows == 0) return;
    run_team(team_, [&](Team team) {
      const Range mine = share(plan_.rows, team.member, team.size);
      if (mine.size() <= 0) return;
      std::byte* buffers =
          plan_.buffers == 0 ? nullptr : workspace.pointer() + static_cast<std::size_t>(team.member) * plan_.buffers;
      Frame frame{this, inputs, outputs, buffers, mine, {}, 0};
      open_next(frame);
    });
  }

 private:
  /// One thread's run: the runners of all programs, opened one inside the other, then the blocks.
  struct Frame {
    const RowKernel* kernel;
    Addresses inputs, outputs;
    std::byte* buffers;
    Range rows;
    std::array<RangeRunner*, RowPlan::most_stages> runners;
    std::size_t opened;
  };

  static void open_next(Frame& frame) {
    const RowKernel& kernel = *frame.kernel;
    if (frame.opened == kernel.plan_.stages.size()) {
      for (std::int64_t row = frame.rows.begin; row < frame.rows.end; row += kernel.plan_.block_rows) {
        kernel.run_block(frame, {row, std::min(row + kernel.plan_.block_rows, frame.rows.end)});
      }
      return;
    }
    const auto then = [](void* context, RangeRunner& runner) {
      Frame& own = *static_cast<Frame*>(context);
      bind(own, own.kernel->plan_.stages[own.opened], runner);
      own.runners[own.opened++] = &runner;
      open_next(own);
    };
    kernel.plan_.stages[frame.opened].program->with_runner(then, &frame);
  }

  static void bind(const Frame& frame, const Stage& stage, RangeRunner& runner) {
    const auto placed = [&](const ValueLocation& location) {
      return OperandBase{address(frame, location, 0),
                         location.kind == ValueLocation::Kind::buffer ? location.width : 0};
    };
    std::array<OperandBase, most_operands> inputs, outputs;
    std::ranges::transform(stage.inputs, inputs.begin(), placed);
    std::ranges::transform(stage.outputs, outputs.begin(), placed);
    runner.bind({inputs.data(), stage.inputs.size()}, {outputs.data(), stage.outputs.size()});
  }

  /// The address that the first row of all would have.
  static std::byte* address(const Frame& frame, const ValueLocation& location, std::int64_t first_row) {
    switch (location.kind) {
      case ValueLocation::Kind::input: return frame.inputs[location.at].pointer();
      case ValueLocation::Kind::output: return frame.outputs[location.at].pointer();
      default: return OperandBase{frame.buffers + location.at, location.width}.beginning_with(first_row);
    }
  }

  /// The runner of a program for these rows.
  static RangeRunner& runner(const Frame& frame, int which, Range rows) {
    RangeRunner& runner = *frame.runners[static_cast<std::size_t>(which)];
    runner.set_first_row(rows.begin);
    return runner;
  }

  void run_stage(const Frame& frame, int which, Range rows, std::int64_t length) const {
    if (which >= 0) runner(frame, which, rows).run_rows(rows, length);
  }

  void run_block(const Frame& frame, Range rows) const {
    for (const Level& level : plan_.levels) {
      for (const int copy : level.copies) run_stage(frame, copy, rows, plan_.length);
      run_stage(frame, level.rows, rows, 1);
      run_stage(frame, level.elements, rows, plan_.length);
      for (const RowPartial& partial : level.partials) finish(frame, partial, rows);
      for (const RowFold& fold : level.folds) run_fold(frame, fold, rows);
    }
  }

  void finish(const Frame& frame, const RowPartial& partial, Range rows) const {
    const auto row = static_cast<std::ptrdiff_t>(rows.begin);
    const std::byte* from =
        address(frame, partial.from, rows.begin) + row * static_cast<std::ptrdiff_t>(partial.from.width);
    std::byte* to = address(frame, partial.to, rows.begin) + row * static_cast<std::ptrdiff_t>(partial.to.width);
    partial.rules.finish(from, nullptr, rows.size(), {plan_.length, 0}, to, 1);
  }

  void run_fold(const Frame& frame, const RowFold& fold, Range rows) const {
    const std::byte* from = address(frame, fold.from, rows.begin) + fold.offset;
    reduce_rows(frame, fold, rows, [&](Range some, std::byte* first, std::byte* second) {
      for (std::int64_t row = some.begin; row < some.end; ++row) {
        fold.loops.line(from + row * static_cast<std::int64_t>(fold.from.width), plan_.length, 1, first, second, 0);
        first += fold.rules.first_size;
        second += fold.rules.second_size;
      }
    });
  }

  /// Starts a reduction of each row, has `reduce(rows, first, second)` go over several, whose partial results lie side
  /// by side, and finishes them into their places.
  template <class Reduction, class Reduce>
  void reduce_rows(const Frame& frame, const Reduction& reduction, Range rows, const Reduce& reduce) const {
    constexpr std::int64_t at_once = 64;
    alignas(64) std::byte first[at_once * sizeof(double)], second[at_once * sizeof(double)];
    std::byte* to = address(frame, reduction.to, rows.begin);
    for (std::int64_t row = rows.begin; row < rows.end; row += at_once) {
      const Range some{row, std::min(row + at_once, rows.end)};
      reduction.rules.start(first, second, some.size());
      reduce(some, first, second);
      std::byte* const results = to + row * static_cast<std::int64_t>(reduction.to.width);
      reduction.rules.finish(first, second, some.size(), {plan_.length, 0}, results, 1);
    }
  }

  RowPlan plan_;
  TeamRequest team_;
  std::int64_t buffers_ = 1;  // members beyond the rows need none
};

}  // namespace

KernelRef prepare_rows(const core::BoundLoop& loop) { return std::make_shared<const RowKernel>(plan_rows(loop)); }

}  // namespace tyto::cpu
