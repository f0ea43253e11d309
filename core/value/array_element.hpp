// SPDX-License-Identifier: MIT
// Reads single elements of arrays as numbers, and formats the first ones as text. Defined in core/device, since reading
// may wait for a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/value/storage.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

/// Element number `index`, in row-major order, of contents on any device. Waits for the device.
Scalar element_of(const Array& array, std::int64_t index);

/// "{1, 2, 3}", or of more than `most` elements the first ones: "{1, 2, ...}".
std::string first_numbers(const Array& array, std::int64_t most);
std::string first_numbers(std::span<const Scalar> numbers, bool are_all);

}  // namespace tyto::core
