// Loops and branches as kernels: their regions run inside of one step, in the step's workspace.
#pragma once

#include <memory>

#include "core/device.hpp"
#include "engine/execution/executable.hpp"

namespace tyto::run {

/// The kernel of a branch or loop. Its operands are dense and lie in host memory.
std::shared_ptr<const core::Kernel> region_kernel(const core::Step& step, const CompileOptions& options);

}  // namespace tyto::run
