// SPDX-License-Identifier: MIT
// The base address of an operand of a range program, which computes one range of rows after another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tyto::cpu {

/// Where the element 0 of an operand would lie while rows are computed from row 0 on. A buffer that holds no more than
/// the rows computed together begins with the first of them, whichever that is. Launches have arrays of them, of which
/// they set what they need.
struct OperandBase {
  OperandBase() = default;
  explicit OperandBase(std::byte* place) : OperandBase(place, 0) {}
  OperandBase(std::byte* place, std::size_t bytes) : start(place), row_bytes(bytes) {}

  std::byte* start;
  std::size_t row_bytes;  // of a buffer: its bytes a row; otherwise 0

  /// Where row 0 would lie if the buffer began with this row: a number rather than a place, for there may be nothing.
  std::byte* beginning_with(std::int64_t row) const {
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    return reinterpret_cast<std::byte*>(first - static_cast<std::uintptr_t>(row) * row_bytes);
  }
};

}  // namespace tyto::cpu
