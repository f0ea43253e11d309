// SPDX-License-Identifier: MIT
// Detects drivers that end loops early: what a kernel computed then is an error, not a result.
#pragma once

#include "core/graph/operator.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// Has every kernel of a plan note a fault where one of its loops was ended by the driver. CLBlast's kernels and those
/// of users are in no plan.
void watch_loops(LaunchPlan& plan, core::OpId op);

}  // namespace tyto::opencl
