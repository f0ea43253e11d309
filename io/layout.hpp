// SPDX-License-Identifier: MIT
// Byte counts of arrays in files, and conversions of their byte order, axis order and booleans.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tyto/io.hpp"

namespace tyto::io {

/// Bytes of a dense array; throws IoError naming `file` when a length is negative or the product overflows.
std::uint64_t byte_count(const std::string& file, const Shape& shape, DType dtype);

/// Turns every element's bytes round: big-endian from and to little-endian.
void swap_bytes(std::span<std::byte> bytes, std::size_t width);

/// A row-major copy of elements in column-major order.
std::vector<std::byte> row_major(std::span<const std::byte> column_major, const Shape& shape, std::size_t width);

/// A bool in memory must be 0 or 1; files may hold anything, of which all but 0 counts as true, as in NumPy.
void normalise_booleans(std::span<std::byte> bytes);

}  // namespace tyto::io
