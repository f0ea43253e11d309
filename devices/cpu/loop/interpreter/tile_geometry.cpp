// SPDX-License-Identifier: MIT
// Chooses the tile's rectangle.
#include "devices/cpu/loop/interpreter/tile_geometry.hpp"

#include <algorithm>

#include "devices/cpu/loop/interpreter/ordered_axes.hpp"

namespace tyto::cpu {

TileGeometry cut_into_tiles(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
                            std::int64_t tile, bool row_major) {
  const auto [views, widths, crossed] = order_axes(inputs, outputs, row_major);
  TileGeometry geometry;
  geometry.elements = views.back().count();
  const Shape& shape = views[0].shape;
  const std::size_t rank = shape.size();
  std::size_t inner_axes = 0;
  if (rank >= 1) {
    geometry.columns = shape[rank - 1];
    inner_axes = 1;
  }
  if (rank >= 2 && (crossed || geometry.columns * 2 <= tile)) {
    geometry.rows = shape[rank - 2];
    inner_axes = 2;
  }
  if (crossed) {
    std::int64_t side = 1;
    while (4 * side * side <= tile) side *= 2;
    geometry.tile_rows = std::min(geometry.rows, side);
    geometry.tile_columns = std::min(geometry.columns, tile / geometry.tile_rows);
  } else {
    geometry.tile_columns = std::min(geometry.columns, tile);
    geometry.tile_rows =
        std::min(geometry.rows, std::max<std::int64_t>(tile / std::max<std::int64_t>(geometry.columns, 1), 1));
  }
  geometry.column_tiles = (geometry.columns + geometry.tile_columns - 1) / geometry.tile_columns;
  geometry.row_tiles = (geometry.rows + geometry.tile_rows - 1) / geometry.tile_rows;
  for (std::size_t axis = 0; axis + inner_axes < rank; ++axis) geometry.outer.push_back(shape[axis]);
  geometry.outer_count = element_count(geometry.outer);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const core::View& view = views[i];
    OperandLayout layout;
    layout.start = view.offset * widths[i];
    if (rank >= 1) layout.column = view.strides[rank - 1] * widths[i];
    if (inner_axes == 2) layout.row = view.strides[rank - 2] * widths[i];
    for (std::size_t axis = 0; axis + inner_axes < rank; ++axis) layout.outer.push_back(view.strides[axis] * widths[i]);
    geometry.layouts.push_back(std::move(layout));
  }
  return geometry;
}

}  // namespace tyto::cpu
