// SPDX-License-Identifier: MIT
// The CPU as a device.
#pragma once

#include <string>

#include "core/device/device.hpp"

namespace tyto::cpu {

/// The one CPU device of the process.
core::Device& device();

/// Names the layout that pack_weights with these attributes makes: the same for the same layout of weights of the same
/// shape, type and groups, whatever they multiply. Empty where nothing says which it is.
std::string packed_layout(const core::ProductAttributes& product, DType dtype);

}  // namespace tyto::cpu
