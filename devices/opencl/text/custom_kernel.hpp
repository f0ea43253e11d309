// SPDX-License-Identifier: MIT
// A user's OpenCL kernel as a prepared step.
#pragma once

#include <memory>

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"

namespace tyto::opencl {

/// The kernel of a `custom` step with source for OpenCL; its inputs are dense.
std::shared_ptr<const core::Kernel> custom_kernel(Context& context, const core::Step& step);

}  // namespace tyto::opencl
