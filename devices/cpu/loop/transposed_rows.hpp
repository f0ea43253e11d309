// SPDX-License-Identifier: MIT
// Rows of an operand whose memory runs across them, copied so that each lies side by side.
#pragma once

#include <cstdint>
#include <memory>

#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

/// Bytes from one row of such copies to the next: an odd number of cache lines, so that the lines of one column of a
/// block fall into all sets of a cache.
std::size_t copied_row_bytes(DType type, std::int64_t length);

/// A program that copies the operand's rows of `length` elements; null where elements that follow one another in memory
/// are not those of neighbouring rows.
std::shared_ptr<const RangeProgram> prepare_transposed_rows(const core::Operand& operand, std::int64_t length);

}  // namespace tyto::cpu
