// SPDX-License-Identifier: MIT
// Rows of a shape: its last axes, which every operand crosses with one stride, and the axes around them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::jit {

/// The layouts of the operands' rows. Rows of one element are elements of one long row instead.
class RowLayouts {
 public:
  /// Operands of one shape and rows of `length` elements; nothing where an operand crosses a row with several strides.
  static std::optional<RowLayouts> of(std::span<const core::Operand> operands, std::int64_t length);

  /// The longest rows that all operands cross with one stride each.
  static RowLayouts longest(std::span<const core::Operand> operands);

  std::size_t count() const { return layouts_.size(); }
  std::int64_t length() const { return length_; }
  /// Rows of the last axis around them.
  std::int64_t rows() const { return rows_; }
  Access access(std::size_t operand) const { return layouts_[operand].access; }
  /// Bytes from one element of a row to the next.
  std::ptrdiff_t column(std::size_t operand) const {
    return single_ ? layouts_[operand].row : layouts_[operand].column;
  }

  /// Whether elements that are neighbours in memory belong to neighbouring rows.
  bool is_transposed(std::size_t operand, DType type) const {
    const auto width = static_cast<std::ptrdiff_t>(size_of(type));
    return !single_ && width <= 8 && access(operand) == Access::strided && layouts_[operand].row == width;
  }

  /// Calls each(frame) for rectangles that make up the rows from range.begin to range.end; starts[i] is operand i's
  /// address. `columns` names the part of every row that is wanted.
  template <class Each>
  void rectangles(Frame& frame, std::span<std::byte* const> starts, Range range, Range columns,
                  const Each& each) const {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      frame.pointers[i].row = single_ ? 0 : layouts_[i].row;
      frame.pointers[i].column = single_ ? layouts_[i].row : layouts_[i].column;
    }
    for (std::int64_t index = range.begin; index < range.end;) {
      const std::int64_t position = outer_.empty() ? index : index % rows_;
      const std::int64_t count = std::min(range.end - index, rows_ - position);
      for (std::size_t i = 0; i < layouts_.size(); ++i) {
        frame.pointers[i].start =
            starts[i] + layouts_[i].start + position * layouts_[i].row + columns.begin * layouts_[i].column;
      }
      std::int64_t left = outer_.empty() ? 0 : index / rows_;
      for (std::size_t axis = outer_.size(); axis-- > 0 && left != 0; left /= outer_[axis]) {
        const std::int64_t at = left % outer_[axis];
        for (std::size_t i = 0; i < layouts_.size(); ++i) frame.pointers[i].start += at * layouts_[i].outer[axis];
      }
      frame.rows = single_ ? 1 : count;
      frame.columns = single_ ? count : columns.size();
      each(frame);
      index += count;
    }
  }

 private:
  /// Strides in bytes.
  struct OperandLayout {
    std::ptrdiff_t start = 0, row = 0, column = 0;
    IntList outer;
    Access access = Access::contiguous;
  };

  std::vector<OperandLayout> layouts_;
  std::int64_t rows_ = 1, length_ = 1;
  Shape outer_;
  bool single_ = false;
};

}  // namespace tyto::cpu::jit
