// Non-maximum suppression of boxes.
#pragma once

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/launch_plan.hpp"

namespace tyto::opencl {

bool is_suppression(core::OpId op);
LaunchPlan suppression_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
