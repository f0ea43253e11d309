// SPDX-License-Identifier: MIT
// The operators that have launch plans of their own, by family; loops have theirs in loops/named_loop.hpp.
#pragma once

#include <span>

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// How a step of an operator, some of whose results have elements, becomes launches.
struct OperatorPlan {
  core::OpId op;
  void (*append)(LaunchPlan& plan, const Context& context, const core::Step& step);
};

std::span<const OperatorPlan> matrix_plans();
std::span<const OperatorPlan> convolution_plans();
std::span<const OperatorPlan> window_plans();  // pooling and resizing, with their gradients
std::span<const OperatorPlan> reduction_plans();
std::span<const OperatorPlan> scan_plans();
std::span<const OperatorPlan> move_plans();     // elements that are only moved
std::span<const OperatorPlan> indexed_plans();  // each element chosen by coordinates or indices
std::span<const OperatorPlan> scatter_plans();
std::span<const OperatorPlan> sort_plans();
std::span<const OperatorPlan> search_plans();
std::span<const OperatorPlan> suppression_plans();
std::span<const OperatorPlan> fourier_plans();

}  // namespace tyto::opencl
