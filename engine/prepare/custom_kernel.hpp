// SPDX-License-Identifier: MIT
// A user's operator as a kernel: where it runs, and its host function.
#pragma once

#include <memory>
#include <span>

#include "core/device/device.hpp"
#include "core/graph/custom.hpp"

namespace tyto::run {

/// The user's operator that `custom` attributes hold.
const core::CustomOperator& custom_operator(const core::Attributes& attributes);

/// Whether a `custom` operator has source for the device; it runs on the host otherwise.
bool has_device_kernel(const core::CustomOperator& op, const core::Device& device, std::span<const DType> inputs,
                       std::span<const DType> outputs);

/// The host's kernel of a `custom` step; its inputs are dense. Throws DeviceError where there is no host function.
std::shared_ptr<const core::Kernel> custom_kernel(const core::Step& step);

}  // namespace tyto::run
