// SPDX-License-Identifier: MIT
// Transposes operands that are contiguous across rows, a rectangle at a time, so that the code reads contiguous rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/loop_kernels.hpp"

namespace tyto::cpu::jit {

class TransposedCopies {
 public:
  static constexpr std::int64_t most = 4;
  /// Size of the copies of a rectangle.
  static constexpr std::size_t bytes = 72 * 1024;

  bool empty() const { return list_.empty(); }
  bool has_room() const { return list_.size() < static_cast<std::size_t>(most); }
  void add(std::size_t operand, DType type, InstructionSet set) {
    list_.push_back({operand, size_of(type), tile_loops(set).transpose[width_index(type)]});
  }

  /// Chooses the width of rectangles, and so how many rows of them fit.
  void cut(std::int64_t columns) {
    constexpr std::size_t row_bytes = 512;
    std::size_t widest = 1, of_row = 0;
    for (const Copy& each : list_) widest = std::max(widest, each.width);
    const auto most_columns = static_cast<std::int64_t>(row_bytes / widest);
    // Equally wide ones: a narrow rest would fill parts of vectors.
    across_ = (columns + most_columns - 1) / most_columns;
    columns_ = std::min(columns, (columns + 16 * across_ - 1) / (16 * across_) * 16);
    for (Copy& each : list_) {
      each.row = copied_row_bytes(each.width, columns_);
      of_row += each.row;
    }
    rows_ = static_cast<std::int64_t>(bytes / of_row) / 16 * 16;  // whole squares of elements
  }
  std::int64_t across() const { return across_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t rows() const { return rows_; }

  /// Copies the transposed operands of a rectangle, and lets the frame read the copies.
  void take(Frame& frame, std::byte* copy) const {
    for (const Copy& each : list_) {
      OperandPointers& from = frame.pointers[each.operand];
      each.loop(copy, each.row / each.width, from.start, from.column, static_cast<std::size_t>(frame.rows),
                static_cast<std::size_t>(frame.columns));
      from.start = copy;
      from.row = static_cast<std::ptrdiff_t>(each.row);
      copy += static_cast<std::size_t>(frame.rows) * each.row;
    }
  }

 private:
  struct Copy {
    std::size_t operand;
    std::size_t width;  // bytes of an element
    TransposeLoop loop;
    std::size_t row = 0;  // bytes from one row of the copy to the next
  };

  std::vector<Copy> list_;
  std::int64_t across_ = 1, columns_ = 1, rows_ = 1;
};

}  // namespace tyto::cpu::jit
