// SPDX-License-Identifier: MIT
// Copies of whole arrays: contiguous, to another device, to the host.
#pragma once

#include <cstddef>
#include <vector>

#include "core/device/device.hpp"
#include "core/value/storage.hpp"

namespace tyto::run {

core::Address address_of(const core::Array& array);

/// Bytes of a dense array. Throws ShapeError when they are more than 63 bits can count.
std::size_t byte_count(DType dtype, const Shape& shape);

/// New memory on a device for a dense array.
core::Array new_array(core::Device& device, DType dtype, const Shape& shape);

/// The array itself if it is dense, else a dense copy on the same device.
core::Array contiguous(core::Array array);

/// The array itself if it lies on the device, else a dense copy there.
core::Array to_device(core::Array array, core::Device& device);

/// The elements in row-major order, on the host.
std::vector<std::byte> host_bytes(const core::Array& array);

/// Copies the elements of one array to another of the same shape and type, on one device.
void copy_elements(const core::Array& from, const core::Array& to);

/// Launches a kernel that copies, prepared on the device.
void launch_copy(const core::Kernel& kernel, core::Device& device, core::Address from, core::Address to);

}  // namespace tyto::run
