// SPDX-License-Identifier: MIT
// Chooses the rectangle of elements that a tile covers.
#include "devices/cpu/loop/interpreter/tile_geometry.hpp"

#include <algorithm>

namespace tyto::cpu {

TileGeometry cut_into_tiles(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
                            std::int64_t tile, bool row_major) {
  const OrderedAxes axes = order_axes(inputs, outputs, row_major);
  const Shape& shape = axes.views[0].shape;
  const bool over_rows = axes.crossed || shape.empty() || shape.back() * 2 <= tile;
  TileGeometry geometry{loop_geometry(axes, over_rows ? 2 : 1)};
  if (geometry.crossed) {
    std::int64_t side = 1;
    while (4 * side * side <= tile) side *= 2;
    geometry.tile_rows = std::min(geometry.rows, side);
    geometry.tile_columns = std::min(geometry.columns, tile / geometry.tile_rows);
  } else {
    geometry.tile_columns = std::min(geometry.columns, tile);
    geometry.tile_rows =
        std::min(geometry.rows, std::max<std::int64_t>(tile / std::max<std::int64_t>(geometry.columns, 1), 1));
  }
  return geometry;
}

}  // namespace tyto::cpu
