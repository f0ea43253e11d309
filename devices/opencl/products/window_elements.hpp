// SPDX-License-Identifier: MIT
// Pooling and resizing, with their gradients: each element of the result is made of those under its window.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_window_element(core::OpId op);
LaunchPlan window_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
