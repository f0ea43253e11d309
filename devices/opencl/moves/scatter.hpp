// SPDX-License-Identifier: MIT
// Writing, adding, multiplying and comparing at positions that index tensors name.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_scatter(core::OpId op);
LaunchPlan scatter_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
