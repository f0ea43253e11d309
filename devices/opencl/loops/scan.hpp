// SPDX-License-Identifier: MIT
// Running sums, products, minima and maxima along an axis.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_scan(core::OpId op);
LaunchPlan scan_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
