// SPDX-License-Identifier: MIT
// The inner loops of products with weights of few bits, which make numbers of them as they are read.
#pragma once

#include <cstdint>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// Rows and columns whose sums are in registers together, at most.
inline constexpr int most_quantised_rows = 4, most_quantised_columns = 4;
/// Lanes of the widest vector.
inline constexpr int most_quantised_lanes = 16;

/// c[r][j] = sum over k of a[r][k] * weight(j, k), where weights are (number - zero point) * scale.
///
/// Numbers are read as words of 32 bits, a vector of words at a time: number s of all of them, then number s + 1. The
/// rows of a lie in that order (QuantisedLoops::arrange), so each lane sums what one word in so many holds.
struct QuantisedDots {
  int bits = 4;
  int words_shift = 2;     ///< the logarithm of the words in a block
  std::int64_t depth = 0;  ///< numbers of a column that count
  const float* a = nullptr;
  std::int64_t a_row = 0;  ///< elements from one row to the next
  int rows = 1;
  /// Columns of whole blocks that are shorter than a vector may be taken several at a time: so many that lie one behind
  /// the other count as one of `depth` numbers, and have rows of a that are repeated.
  int in_vector = 1;
  int columns = 1;  ///< that are stored; all pointers are to columns, or to the first of each vector
  const std::uint8_t* numbers[most_quantised_columns] = {};
  const float* scales[most_quantised_columns] = {};
  const float* zeros[most_quantised_columns] = {};  ///< zero points, or null: in the middle of the numbers
  float* c = nullptr;
  std::int64_t c_row = 0;
};

/// A vector of columns of weights, step by step: to[i][j] = weight(j, first + i).
struct QuantisedPanel {
  int bits = 4;
  std::int64_t block = 32;  ///< numbers in a block
  const std::uint8_t* numbers = nullptr;
  std::int32_t offsets[most_quantised_lanes] = {};  ///< bytes to each column's numbers
  const float* scales[most_quantised_lanes] = {};   ///< of each column, from `first_block` on
  const float* zeros[most_quantised_lanes] = {};    ///< or null
  std::int64_t first = 0, steps = 0, first_block = 0;
  float* to = nullptr;
  std::int64_t pitch = 0;
};

/// The loops for one instruction set.
struct QuantisedLoops {
  int lanes = 1;
  int columns = 1;  ///< that `dots` takes at a time
  void (*dots)(const QuantisedDots&) = nullptr;
  void (*panel)(const QuantisedPanel&) = nullptr;
  /// Brings part of a row into the order in which `dots` reads it: as many elements as `vectors` whole vectors of words
  /// hold, of which the first `count` are given and the others zero.
  void (*arrange)(int bits, const float* from, std::int64_t count, std::int64_t vectors, float* to) = nullptr;
  /// Numbers number first, first + 1, ... of packed ones.
  void (*unpack)(int bits, const std::uint8_t* packed, std::int64_t first, std::int64_t count, float* to) = nullptr;
};

QuantisedLoops quantised_loops(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(QuantisedLoops quantised_loops() noexcept;)

}  // namespace tyto::cpu
