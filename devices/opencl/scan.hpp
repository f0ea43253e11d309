// Running sums, products, minima and maxima along an axis.
#pragma once

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/launch_plan.hpp"

namespace tyto::opencl {

bool is_scan(core::OpId op);
LaunchPlan scan_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
