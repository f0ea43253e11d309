// SPDX-License-Identifier: MIT
// The CPU as a device.
#pragma once

#include "core/device/device.hpp"

namespace tyto::cpu {

/// The one CPU device of the process.
core::Device& device();

}  // namespace tyto::cpu
