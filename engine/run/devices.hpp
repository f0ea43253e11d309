// SPDX-License-Identifier: MIT
// Lists the devices, and chooses the one that new work runs on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/device/device.hpp"

namespace tyto::run {

/// The CPU first, then every OpenCL device.
const std::vector<core::Device*>& all_devices();
core::Device& cpu_device();
/// "cpu", "opencl" (the first of them) or "opencl:N". Throws DeviceError listing the devices.
core::Device& find_device(std::string_view name);
/// The device of the innermost DeviceScope on this thread; the CPU outside of any.
core::Device& current_device();
core::Device* exchange_current_device(core::Device* device);

/// Changes with every setting that kernels are chosen by, such as the number of threads: they are then prepared anew.
std::uint64_t kernel_epoch();

}  // namespace tyto::run
