// SPDX-License-Identifier: MIT
// A loop with the name that errors show: an operator's own or a fused group's.
#pragma once

#include <optional>
#include <string>

#include "core/loop/bound_loop.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

struct NamedLoop {
  std::string name;
  core::BoundLoop bound;
  const core::Attributes* numbers = nullptr;  // of the only step, where it makes numbers: fill, arange, eye, draws

  const core::LoopProgram& program() const { return bound.loop.program; }
};

/// Whether the operator is a loop: over elements, or over rows as softmaxes and variances are.
bool is_loop(core::OpId op);

/// Whether it is a loop over elements alone.
bool is_element_loop(core::OpId op);

/// Whether complex elements may be among its operands: those of loops over their parts, and of fills.
bool takes_complex(core::OpId op);

/// The loop of such an operator. Its reductions are simple ones: sum, mean, prod, min and max.
NamedLoop named_loop(const Context& context, const core::Step& step);

/// The kernel of a loop over elements.
LaunchPlan element_launch_plan(const Context& context, const NamedLoop& loop);

/// The kernel of a loop with reductions: a work-group a row, which keeps values in local memory.
LaunchPlan row_launch_plan(const Context& context, const NamedLoop& loop);

/// Of any loop: over elements, over rows, or a reduction of what is computed where it reads it.
LaunchPlan loop_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
