// SPDX-License-Identifier: MIT
// Operators each element of whose result is read from a position that follows from its own index or from an index
// tensor.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_indexed(core::OpId op);
LaunchPlan indexed_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
