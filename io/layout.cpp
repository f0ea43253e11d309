// SPDX-License-Identifier: MIT
// Computes sizes and converts byte order and axis order of arrays in files.
#include "io/layout.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "io/refuse.hpp"

namespace tyto::io {

static_assert(std::endian::native == std::endian::little, "files are read as little-endian memory");

std::uint64_t byte_count(const std::string& file, const Shape& shape, DType dtype) {
  // Lengths of zero are left out of the product, so that what surrounds them must make sense as well.
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint64_t product = size_of(dtype);
  bool empty = false;
  for (const std::int64_t length : shape) {
    if (length < 0) refuse(file, "states shape ", to_string(shape), "; lengths must not be negative");
    if (length == 0) {
      empty = true;
    } else if (product > most / static_cast<std::uint64_t>(length)) {
      refuse(file, "states shape ", to_string(shape), " of ", name_of(dtype), ", more than memory can hold");
    } else {
      product *= static_cast<std::uint64_t>(length);
    }
  }
  return empty ? 0 : product;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  if (width == 1) return;
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

std::vector<std::byte> row_major(std::span<const std::byte> column_major, const Shape& shape, std::size_t width) {
  std::vector<std::byte> out(column_major.size());
  Shape strides = shape;
  std::int64_t step = static_cast<std::int64_t>(width);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  IntList index(shape.size(), 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += width) {
    std::memcpy(out.data() + to, column_major.data() + from, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

void normalise_booleans(std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) byte = std::byte{byte != std::byte{0}};
}

}  // namespace tyto::io
