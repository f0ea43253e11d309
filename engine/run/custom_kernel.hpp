// A user's host function as a kernel.
#pragma once

#include <memory>

#include "engine/core/device.hpp"

namespace tyto::run {

/// The kernel of a `custom` step; its inputs are dense.
std::shared_ptr<const core::Kernel> custom_kernel(const core::Step& step);

}  // namespace tyto::run
