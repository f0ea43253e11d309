// SPDX-License-Identifier: MIT
// Finds the devices of all platforms.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.hpp"

namespace tyto::opencl {

struct Discovery {
  std::vector<std::unique_ptr<core::Device>> devices;  // "opencl:0", "opencl:1", ...
  std::vector<std::string> refused;  // platforms and devices that cannot be used, each with the reason
};

/// Opens the devices that `wish` leaves in, which is what TYTO_OPENCL_DEVICE may say (device.hpp).
Discovery discover(const std::string& wish);

}  // namespace tyto::opencl
