// SPDX-License-Identifier: MIT
// Non-maximum suppression of boxes.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_suppression(core::OpId op);
LaunchPlan suppression_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
