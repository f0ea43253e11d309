// SPDX-License-Identifier: MIT
// Single elements of arrays as numbers.
#pragma once

#include <cstdint>

#include "core/value/storage.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

/// Element number `index`, in row-major order, of contents on any device. Waits for the device.
Scalar element_of(const Array& array, std::int64_t index);

}  // namespace tyto::core
