// SPDX-License-Identifier: MIT
// Element-wise programs and groups over rows drawn at random: the same ones from the same seed, wherever they are
// drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/loop_program.hpp"
#include "core/graph/operator.hpp"

namespace tyto::bench {

/// Where the element of row r and column c lies, counted in elements; the shape has R rows and C columns.
enum class Layout : std::uint8_t {
  dense,         // r C + c
  number,        // 0
  by_row,        // r
  by_column,     // c
  pitched,       // r (C + 24) + c: a part of a wider tensor
  every_second,  // 2 (r C + c)
  transposed,    // r + c R
};

struct RandomOperand {
  DType type = DType::f32;
  Layout layout = Layout::dense;
  double low = -1, high = 1;  ///< its elements lie in between
};

/// A value of the program, numbered as in core::LoopProgram.
struct RandomValue {
  DType type = DType::f32;
  bool varies_in_row = true;  ///< else it has one element a row
  int depth = 0;              ///< reductions before it
  bool exact = true;          ///< computed without sums, whose order is free
};

struct RandomProgram {
  std::vector<RandomOperand> operands;
  core::LoopProgram program;
  std::vector<RandomValue> values;
  std::int64_t row_length = 0;  ///< 0: all elements are one row
  const char* kind = "";

  bool reduces() const;
  /// All operands are dense or numbers and nothing is reduced: one loop goes over all elements.
  bool is_flat() const;
  /// Results have an element for every element, or, `false`, one for every row.
  bool is_whole(std::size_t result) const;
  std::string text() const;
};

struct Limits {
  int fewest_steps = 3, most_steps = 24;
};

std::vector<RandomProgram> draw_programs(std::uint64_t seed, int count, Limits limits = {});

}  // namespace tyto::bench
