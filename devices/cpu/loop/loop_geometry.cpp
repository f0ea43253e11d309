// SPDX-License-Identifier: MIT
// Orders and merges axes, and divides them into columns, rows and outer axes.
#include "devices/cpu/loop/loop_geometry.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tyto::cpu {

namespace {

/// Finds an axis along which some operand's memory runs while another axis is innermost, and makes it the second
/// innermost. False where there is none worth it.
bool bring_crossed_axis_inwards(std::span<core::View> views) {
  constexpr std::int64_t shortest = 8;
  const Shape shape = views[0].shape;
  const std::size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] < shortest) return false;
  for (const core::View& view : views) {
    const std::int64_t inner = std::abs(view.strides[rank - 1]);
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) {
      if (view.strides[axis] != 1 || inner < shortest || shape[axis] < shortest) continue;
      IntList order;
      for (std::size_t other = 0; other + 1 < rank; ++other) {
        if (other != axis) order.push_back(static_cast<std::int64_t>(other));
      }
      order.push_back(static_cast<std::int64_t>(axis));
      order.push_back(static_cast<std::int64_t>(rank - 1));
      for (core::View& turned : views) turned = core::permute(turned, order);
      return true;
    }
  }
  return false;
}

}  // namespace

OrderedAxes order_axes(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs, bool row_major) {
  OrderedAxes axes;
  for (const auto& operands : {inputs, outputs}) {
    for (const core::Operand& operand : operands) {
      axes.views.push_back(operand.view);
      axes.widths.push_back(static_cast<std::ptrdiff_t>(size_of(operand.dtype)));
    }
  }
  // Whatever the axes are called, the result is best written in the order of its memory.
  const core::View& leader = outputs[0].view;
  const auto trivial = [&](std::int64_t axis) { return leader.shape[static_cast<std::size_t>(axis)] == 1; };
  const auto stride = [&](std::int64_t axis) { return std::abs(leader.strides[static_cast<std::size_t>(axis)]); };
  IntList order(leader.shape.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(std::stable_partition(order.begin(), order.end(), trivial), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return stride(a) > stride(b); });
  for (core::View& view : axes.views) view = core::permute(view, order);
  core::collapse(axes.views);
  axes.crossed = !row_major && bring_crossed_axis_inwards(axes.views);
  return axes;
}

LoopGeometry loop_geometry(const OrderedAxes& axes, std::size_t inner) {
  const Shape& shape = axes.views[0].shape;
  const std::size_t rank = shape.size();
  inner = std::min(inner, rank);
  LoopGeometry geometry;
  geometry.elements = axes.views.back().count();
  geometry.crossed = axes.crossed;
  if (inner >= 1) geometry.columns = shape[rank - 1];
  if (inner == 2) geometry.rows = shape[rank - 2];
  for (std::size_t axis = 0; axis + inner < rank; ++axis) geometry.outer.push_back(shape[axis]);
  geometry.outer_count = element_count(geometry.outer);
  for (std::size_t i = 0; i < axes.views.size(); ++i) {
    const core::View& view = axes.views[i];
    const std::ptrdiff_t width = axes.widths[i];
    OperandLayout layout;
    layout.start = view.offset * width;
    if (inner >= 1) layout.column = view.strides[rank - 1] * width;
    if (inner == 2) layout.row = view.strides[rank - 2] * width;
    for (std::size_t axis = 0; axis + inner < rank; ++axis) layout.outer.push_back(view.strides[axis] * width);
    geometry.layouts.push_back(std::move(layout));
  }
  return geometry;
}

}  // namespace tyto::cpu
