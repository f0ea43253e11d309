// SPDX-License-Identifier: MIT
// Convolutions and their two gradients as matrix products over the patches of an image.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_convolution(core::OpId op);
LaunchPlan convolution_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
