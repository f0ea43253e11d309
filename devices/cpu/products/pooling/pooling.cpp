// SPDX-License-Identifier: MIT
// Checks a pooling and chooses its kernel; halves go through f32 copies.
#include "devices/cpu/products/pooling/pooling.hpp"

#include <string>

#include <tyto/error.hpp>

#include "core/value/text.hpp"
#include "devices/cpu/products/half_routine.hpp"
#include "devices/cpu/products/pooling/pooling_routine.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

std::unique_ptr<PoolingRoutine> prepare(const PoolingProblem& problem, const KernelChoice& choice) {
  return problem.kind == PoolingKind::maximum ? prepare_maximum_pooling(problem, choice)
                                              : prepare_average_pooling(problem, choice);
}

Pooling prepare_half(const PoolingProblem& problem, const KernelChoice& choice) {
  using Half = HalfRoutine<PoolingArguments>;
  const PoolingPlan plan(problem, choice);
  PoolingProblem wide = problem;
  wide.dtype = DType::f32;
  const std::int64_t in = plan.input_elements(), out = plan.output_elements();
  const bool reads_input = !problem.backward || problem.kind == PoolingKind::maximum;
  const std::vector<Half::Operand> operands{{&PoolingArguments::input, reads_input ? in : 0},
                                            {&PoolingArguments::output_gradient, problem.backward ? out : 0}};
  return Pooling(std::make_shared<Half>(problem.dtype, plan.threads, prepare(wide, choice), operands,
                                        problem.backward ? in : out));
}

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
  if (is_half(problem.dtype)) return prepare_half(problem, choice);
  return Pooling(prepare(problem, choice));
}

}  // namespace tyto::cpu
