// SPDX-License-Identifier: MIT
// The OpenCL devices of this machine.
#pragma once

#include <span>
#include <string>

#include "core/device/device.hpp"

namespace tyto::opencl {

/// All OpenCL devices, found once: "opencl:0", "opencl:1", ... Empty where there is no OpenCL at run time.
/// The environment variable TYTO_OPENCL_DEVICE restricts them: a number picks the device of that number, any other
/// text those whose own or platform's name contains it, "none" none. TYTO_OPENCL_STYLE gives them all matrix
/// products of one style, "cpu" or "gpu".
std::span<core::Device* const> devices();

/// Those that are there and cannot be used, each with the reason: "NAME (PLATFORM): clCreateContext: ...".
std::span<const std::string> refused_devices();

}  // namespace tyto::opencl
