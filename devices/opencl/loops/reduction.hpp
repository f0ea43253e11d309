// SPDX-License-Identifier: MIT
// Reductions on OpenCL: sums, products, extremes and their positions along axes.
#pragma once

#include <optional>

#include "core/device/device.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// A sum, prod, mean, min or max over the loop's axes of its only result, which is computed where the reduction reads
/// it. The output has ones for the axes.
LaunchPlan computed_reduction_launch_plan(const Context& context, core::OpId op, const NamedLoop& elements,
                                          const core::Operand& output);

/// A variance as a mean and a reduction of squares, which suits columns and few long rows; nothing for what is better
/// taken row by row.
std::optional<LaunchPlan> variance_by_reductions(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
