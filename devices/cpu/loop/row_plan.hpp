// SPDX-License-Identifier: MIT
// Plans a loop with reductions over its last axes: its stages, what each computes and where it stores values.
#pragma once

#include <memory>
#include <vector>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/loop/range_program.hpp"
#include "devices/cpu/loop/reduction.hpp"

namespace tyto::cpu {

/// The location of a value.
struct ValueLocation {
  enum class Kind : std::uint8_t { nowhere, input, output, buffer } kind = Kind::nowhere;
  std::size_t at = 0;     // which input or output; the buffer's offset
  std::size_t width = 0;  // of a buffer: bytes of one row
};

/// A program over rows or over whole elements, and where its operands lie.
struct Stage {
  std::shared_ptr<const RangeProgram> program;
  std::vector<ValueLocation> inputs, outputs;
};

/// A reduction of each row of a block that the program over elements makes as machine code: where its partial results
/// lie.
struct RowPartial {
  FoldRules rules;
  ValueLocation from, to;
};

/// A reduction of each row of a block, whose elements are in memory.
struct RowFold {
  FoldLoops loops;
  FoldRules rules;
  ValueLocation from, to;
  std::int64_t offset = 0;  // bytes before the first element
};

/// One level: operands that it reads are copied, the programs run in this order, then partial results are finished and
/// folds run.
struct Level {
  std::vector<int> copies;  // numbers of programs
  int rows = -1;            // number of a program, or -1
  int elements = -1;        // number of a program, or -1
  std::vector<RowPartial> partials;
  std::vector<RowFold> folds;
};

/// Reductions are taken in levels, each after those that it depends on.
struct RowPlan {
  static constexpr std::size_t most_copies = 4;  // of operands that lie transposed
  static constexpr std::size_t most_stages = 16 + most_copies;

  std::vector<Stage> stages;
  std::vector<Level> levels;
  std::int64_t rows = 0, length = 0;
  std::int64_t block_rows = 1;  // so many rows go through all levels together
  std::size_t buffers = 0;      // bytes for a block's values
  double nanoseconds = 0;       // of all rows on one thread
};

/// Throws DeviceError where a loop has too many stages.
RowPlan plan_rows(const core::BoundLoop& loop);

}  // namespace tyto::cpu
