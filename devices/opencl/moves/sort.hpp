// SPDX-License-Identifier: MIT
// Operators that put lines in order, or look for places in them.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// sort, argsort, topk, random_permutation.
bool is_sort(core::OpId op);
LaunchPlan sort_launch_plan(const Context& context, const core::Step& step);

/// searchsorted, histogram.
bool is_search(core::OpId op);
LaunchPlan search_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
