// SPDX-License-Identifier: MIT
// The interpreter: runs a bound program on one thread. Except for outputs, it writes its own frame only.
#pragma once

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/interpreter/bound_program.hpp"
#include "devices/cpu/loop/range_program.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

class TileRunner final : public RangeRunner {
 public:
  TileRunner(const BoundProgram& program, Addresses inputs, Addresses outputs);
  /// The operands are still to be placed.
  explicit TileRunner(const BoundProgram& program);

  void run_columns(Range lines, Range columns, std::int64_t length) override;

  /// Any elements by their numbers in row-major order: whole rows by tiles of several, parts of rows by tiles of one.
  void run_elements(Range elements);

 private:
  /// The part of a tile that is computed at a time.
  struct Extent {
    std::int64_t columns, rows;
    std::size_t count() const { return static_cast<std::size_t>(columns * rows); }
  };

  /// Which loads may be left as the last tile had them: numbers; what stays the same along a row, in that row; what
  /// stays the same in all tiles, in whole rows after whole rows.
  struct Kept {
    bool numbers = false, row = false, rows = false;
  };

  static void fetch(const Load& load, const OperandLayout& layout, const std::byte* from, void* tile, std::byte* memory,
                    Extent extent);
  static void put(const Store& store, const OperandLayout& layout, std::byte* to, const void* value, std::byte* memory,
                  Extent extent);

  void enter(std::int64_t index);
  /// Outputs lie exactly over an input or apart from all of them: where they start tells which.
  void choose_by_starts() override;
  void run(std::int64_t row, std::int64_t column, Extent extent, Kept kept);

  std::size_t operands() const { return geometry_.layouts.size(); }
  std::byte* first(std::size_t operand) const { return starts_[operand] + geometry_.layouts[operand].start; }
  Extent whole() const { return {geometry_.tile_columns, geometry_.tile_rows}; }

  const BoundProgram& program_;
  const TileGeometry& geometry_;
  std::uint64_t in_place_ = 0;  // outputs, by store, that instructions write themselves
  alignas(64) std::byte memory_[tile_memory];
  void* values_[BoundProgram::most_values];
  std::byte* cursors_[2 * most_operands];  // within the present outer index
};

}  // namespace tyto::cpu
