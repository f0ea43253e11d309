// SPDX-License-Identifier: MIT
// Checks a pooling and chooses its kernel; halves go through f32 copies.
#include "devices/cpu/products/pooling/pooling.hpp"

#include <string>

#include <tyto/error.hpp>

#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/half_copies.hpp"
#include "devices/cpu/products/pooling/pooling_routine.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

std::unique_ptr<PoolingRoutine> prepare(const PoolingProblem& problem, const KernelChoice& choice) {
  return problem.kind == PoolingKind::maximum ? prepare_maximum_pooling(problem, choice)
                                              : prepare_average_pooling(problem, choice);
}

class HalfPooling final : public PoolingRoutine {
 public:
  HalfPooling(const PoolingProblem& problem, const KernelChoice& choice)
      : dtype_(problem.dtype), threads_(PoolingPlan(problem, choice).threads) {
    const PoolingPlan plan(problem, choice);
    PoolingProblem wide = problem;
    wide.dtype = DType::f32;
    inner_ = prepare(wide, choice);
    const bool reads_input = !problem.backward || problem.kind == PoolingKind::maximum;
    input_ = HalfCopy::reserve(space_, reads_input ? plan.input_elements() : 0);
    gradient_ = HalfCopy::reserve(space_, problem.backward ? plan.output_elements() : 0);
    result_ = HalfCopy::reserve(space_, problem.backward ? plan.input_elements() : plan.output_elements());
  }

  void run(const PoolingArguments& arguments) const override {
    void* const space = arguments.workspace;
    run_team(threads_, [&](Team team) {
      input_.load(dtype_, arguments.input, space, team);
      gradient_.load(dtype_, arguments.output_gradient, space, team);
    });
    inner_->run({input_.in(space), gradient_.in(space), result_.in(space), nullptr});
    run_team(threads_, [&](Team team) { result_.store(dtype_, space, arguments.result, team); });
  }

 private:
  DType dtype_;
  int threads_;
  std::unique_ptr<PoolingRoutine> inner_;
  HalfCopy input_, gradient_, result_;
};

}  // namespace

PoolingPlan::PoolingPlan(const PoolingProblem& problem, const KernelChoice& choice)
    : batch(problem.batch),
      channels(problem.channels),
      axes(three_axes(problem.axes)),
      of_output(window_pairs_of(axes, WindowPairs::of_output)) {
  std::int64_t taps = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    input[axis] = axes[axis].input;
    output[axis] = axes[axis].output();
    taps *= axes[axis].kernel;
  }
  threads = choice.threads > 0 ? choice.threads
                               : threads_for(static_cast<double>(output_elements()) * static_cast<double>(taps) /
                                             machine::scalar_operations);
}

Pooling prepare_pooling(const PoolingProblem& problem, const KernelChoice& choice) {
  check_axes("pooling", problem.axes);
  if (problem.batch < 0 || problem.channels < 0) {
    core::throw_error<ValueError>("pooling: extents must not be negative, got batch ", problem.batch, ", channels ",
                                  problem.channels);
  }
  if (!is_floating(problem.dtype) && (problem.backward || problem.kind == PoolingKind::average)) {
    core::throw_error<TypeError>("pooling: averages and gradients need a floating type, got ", name_of(problem.dtype));
  }
  if (is_half(problem.dtype)) return Pooling(std::make_shared<HalfPooling>(problem, choice));
  return Pooling(prepare(problem, choice));
}

}  // namespace tyto::cpu
