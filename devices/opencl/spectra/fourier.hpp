// SPDX-License-Identifier: MIT
// Fourier transforms along an axis: fft, rfft, irfft.
#pragma once

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

bool is_fourier(core::OpId op);
LaunchPlan fourier_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
