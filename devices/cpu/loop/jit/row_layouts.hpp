// SPDX-License-Identifier: MIT
// Rows of a shape: its last axes, which every operand crosses with one stride, and the axes around them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/loop/jit/kernel_spec.hpp"
#include "devices/cpu/loop/loop_geometry.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::jit {

/// How the elements of a row follow one another.
inline Access access_of(std::ptrdiff_t column, std::int64_t columns, DType type) {
  if (columns == 1 || column == static_cast<std::ptrdiff_t>(size_of(type))) return Access::contiguous;
  return column == 0 ? Access::broadcast : Access::strided;
}

/// Whether elements that are neighbours in memory belong to neighbouring rows.
inline bool lies_across(const OperandLayout& layout, Access access, DType type) {
  const std::size_t width = size_of(type);
  return width <= 8 && access == Access::strided && layout.row == static_cast<std::ptrdiff_t>(width);
}

/// Calls each(frame) for rectangles that make up the rows from range.begin to range.end; starts[i] is operand i's
/// address. `columns` names the part of every row that is wanted; `single`: rows have one element, and are elements of
/// one long row.
template <class Each>
void each_rectangle(const LoopGeometry& geometry, bool single, Frame& frame, std::span<std::byte* const> starts,
                    Range range, Range columns, const Each& each) {
  const std::vector<OperandLayout>& layouts = geometry.layouts;
  const Shape& outer = geometry.outer;
  const std::int64_t rows = geometry.rows;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    frame.pointers[i].row = single ? 0 : layouts[i].row;
    frame.pointers[i].column = single ? layouts[i].row : layouts[i].column;
  }
  for (std::int64_t index = range.begin; index < range.end;) {
    const std::int64_t position = outer.empty() ? index : index % rows;
    const std::int64_t count = std::min(range.end - index, rows - position);
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      frame.pointers[i].start =
          starts[i] + layouts[i].start + position * layouts[i].row + columns.begin * layouts[i].column;
    }
    std::int64_t left = outer.empty() ? 0 : index / rows;
    for (std::size_t axis = outer.size(); axis-- > 0 && left != 0; left /= outer[axis]) {
      const std::int64_t at = left % outer[axis];
      for (std::size_t i = 0; i < layouts.size(); ++i) frame.pointers[i].start += at * layouts[i].outer[axis];
    }
    frame.rows = single ? 1 : count;
    frame.columns = single ? count : columns.size();
    each(frame);
    index += count;
  }
}

/// The layouts of the operands' rows. Rows of one element are elements of one long row instead.
class RowLayouts {
 public:
  /// Operands of one shape and rows of `length` elements; nothing where an operand crosses a row with several strides.
  static std::optional<RowLayouts> of(std::span<const core::Operand> operands, std::int64_t length);

  /// The longest rows that all operands cross with one stride each.
  static RowLayouts longest(std::span<const core::Operand> operands);

  std::size_t count() const { return access_.size(); }
  std::int64_t length() const { return geometry_.columns; }
  /// Rows of the last axis around them.
  std::int64_t rows() const { return geometry_.rows; }
  Access access(std::size_t operand) const { return access_[operand]; }
  /// Bytes from one element of a row to the next.
  std::ptrdiff_t column(std::size_t operand) const {
    return single_ ? geometry_.layouts[operand].row : geometry_.layouts[operand].column;
  }

  bool is_transposed(std::size_t operand, DType type) const {
    return !single_ && lies_across(geometry_.layouts[operand], access(operand), type);
  }

  /// each_rectangle() over these rows.
  template <class Each>
  void rectangles(Frame& frame, std::span<std::byte* const> starts, Range range, Range columns,
                  const Each& each) const {
    each_rectangle(geometry_, single_, frame, starts, range, columns, each);
  }

 private:
  LoopGeometry geometry_;
  std::vector<Access> access_;
  bool single_ = false;
};

}  // namespace tyto::cpu::jit
