// A user's own kernel as a prepared step.
#pragma once

#include <memory>

#include "core/device.hpp"
#include "devices/opencl/context.hpp"

namespace tyto::opencl {

/// The kernel of a `custom` step with source for OpenCL; its inputs are dense.
std::shared_ptr<const core::Kernel> custom_kernel(Context& context, const core::Step& step);

}  // namespace tyto::opencl
