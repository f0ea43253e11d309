// SPDX-License-Identifier: MIT
// Divides ordered axes among rows, their count and what is around them.
#include "devices/cpu/loop/jit/loop_geometry.hpp"

#include <algorithm>

#include "devices/cpu/loop/interpreter/ordered_axes.hpp"

namespace tyto::cpu::jit {

LoopGeometry loop_geometry(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs) {
  const auto [views, widths, crossed] = order_axes(inputs, outputs);
  LoopGeometry geometry;
  geometry.elements = views.back().count();
  geometry.crossed = crossed;
  const Shape& shape = views[0].shape;
  const std::size_t rank = shape.size(), inner = std::min<std::size_t>(rank, 2);
  if (inner >= 1) geometry.columns = shape[rank - 1];
  if (inner == 2) geometry.rows = shape[rank - 2];
  for (std::size_t axis = 0; axis + inner < rank; ++axis) geometry.outer.push_back(shape[axis]);
  geometry.outer_count = element_count(geometry.outer);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const core::View& view = views[i];
    LoopGeometry::OperandLayout layout;
    layout.start = view.offset * widths[i];
    if (inner >= 1) layout.column = view.strides[rank - 1] * widths[i];
    if (inner == 2) layout.row = view.strides[rank - 2] * widths[i];
    for (std::size_t axis = 0; axis + inner < rank; ++axis) layout.outer.push_back(view.strides[axis] * widths[i]);
    geometry.layouts.push_back(std::move(layout));
  }
  return geometry;
}

}  // namespace tyto::cpu::jit
