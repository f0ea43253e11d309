// Many launches as one: its items take the tasks of stage after stage, and wait for the stage before (docs/adr/0136).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/joined_launches.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/enqueued_kernel.hpp"
#include "devices/opencl/launch_plan.hpp"

namespace tyto::opencl {

/// A launch of a step as a stage of a joined kernel.
struct JoinedStage {
  std::size_t step;  // counted from the first one joined
  const EnqueuedKernel::Stage* stage;
  std::size_t function;   // which of the kernel's texts
  std::size_t arguments;  // where they begin in the table
};

/// A joined kernel before it is compiled.
struct JoinedPlan {
  std::size_t first = 0, past = 0;  // steps
  LaunchPlan launch;                // its only launch
  std::vector<JoinedStage> stages;
  std::size_t buffers = 0;
  std::size_t table = 0;  // numbers
  /// Which of the buffers each operand of each step is, as core::LaunchedStep::buffers.
  std::vector<std::vector<std::size_t>> operands;
};

/// Runs of steps whose every launch can be a stage.
std::vector<JoinedPlan> plan_joined(std::span<const core::LaunchedStep> steps);

/// The kernel of a plan. The steps' own kernels must outlive it.
std::shared_ptr<core::JoinedKernel> joined_kernel(const Context& context, JoinedPlan plan,
                                                  const EnqueuedKernel::Compiled& program);

}  // namespace tyto::opencl
