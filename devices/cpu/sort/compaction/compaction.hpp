// SPDX-License-Identifier: MIT
// Elements that a mask holds, side by side, and their positions: loops without a branch on the mask.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

struct CompactionLoops {
  /// Bytes of a mask that are not zero.
  std::int64_t (*count)(const std::uint8_t* mask, std::int64_t count);
  /// Writes the elements for which the mask is not zero, `kept` of them, as CompactionLoops::count says.
  void (*pick_1)(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to);
  void (*pick_2)(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to);
  void (*pick_4)(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to);
  void (*pick_8)(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to);
  void (*pick_16)(const void* elements, const std::uint8_t* mask, std::int64_t kept, std::int64_t count, void* to);
  /// Writes the positions at which the mask is not zero.
  void (*positions)(const std::uint8_t* mask, std::int64_t kept, std::int64_t count, std::int64_t* to);

  /// The loop for elements of so many bytes.
  auto pick(std::size_t size) const {
    return size == 1 ? pick_1 : size == 2 ? pick_2 : size == 4 ? pick_4 : size == 8 ? pick_8 : pick_16;
  }
};

TYTO_IN_EACH_SET(extern const CompactionLoops compaction_loops;)

/// The loops for an instruction set.
const CompactionLoops& compaction_loops(InstructionSet set) noexcept;

}  // namespace tyto::cpu
