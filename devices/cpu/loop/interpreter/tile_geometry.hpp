// SPDX-License-Identifier: MIT
// Divides a shape into tiles, and computes where each operand's elements of a tile are.
#pragma once

#include <cstddef>
#include <span>

#include "devices/cpu/loop/loop_geometry.hpp"

namespace tyto::cpu {

/// A tile is a rectangle of elements: a run of the innermost axis, as many whole short runs as fit, or, where an input
/// lies in memory along another axis than the result, a square over both axes, which reads and writes whole cache
/// lines.
///
/// `rows` is 1 where tiles do not reach over it.
struct TileGeometry : LoopGeometry {
  std::int64_t tile_columns = 1, tile_rows = 1;  ///< of one tile

  /// Elements that follow one another and make whole tiles: one, or all along some rows.
  std::int64_t elements_of_tiles() const { return tile_rows > 1 ? tile_rows * columns : tile_columns; }

  /// The tile covers the operand's memory without gaps.
  bool contiguous(const OperandLayout& layout, std::ptrdiff_t width) const {
    return (tile_columns == 1 || layout.column == width) && (tile_rows == 1 || layout.row == tile_columns * width);
  }
  /// Every tile holds the same elements (a last, smaller one the first of them).
  bool same_in_all_tiles(const OperandLayout& layout) const {
    for (const std::int64_t stride : layout.outer) {
      if (stride != 0) return false;
    }
    return (rows == 1 || layout.row == 0) && (layout.column == 0 || tile_columns == columns);
  }
  /// Memory runs along the rows of the tile's columns.
  bool transposed(const OperandLayout& layout, std::ptrdiff_t width) const {
    return tile_rows > 1 && tile_columns > 1 && layout.row == width && layout.column != width && layout.column != 0;
  }
  /// Whether all elements of a row are the same element of the operand.
  bool same_along_row(const OperandLayout& layout) const { return tile_rows == 1 && layout.column == 0; }
};

/// Axes are ordered by the first output's strides and merged; tiles have at most `tile` elements. With `row_major`, the
/// first output is dense and elements keep their order.
TileGeometry cut_into_tiles(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
                            std::int64_t tile, bool row_major = false);

}  // namespace tyto::cpu
