// SPDX-License-Identifier: MIT
// Operators that only move elements, each a list of strided copies.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// Appends the launch that copies input `input` from one view to another of the same shape in the result. It is left
/// out where both are the same elements.
void append_copy(LaunchPlan& plan, const Context& context, std::size_t input, const core::View& from,
                 const core::Operand& to);

}  // namespace tyto::opencl
