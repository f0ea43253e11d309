// Orders and merges axes.
#include "devices/cpu/jit/loop_geometry.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tyto::cpu::jit {

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

LoopGeometry loop_geometry(std::span<const core::Operand> inputs, std::span<const core::Operand> outputs) {
  std::vector<core::View> views;
  std::vector<std::ptrdiff_t> widths;
  for (const auto& operands : {inputs, outputs}) {
    for (const core::Operand& operand : operands) {
      views.push_back(operand.view);
      widths.push_back(static_cast<std::ptrdiff_t>(size_of(operand.dtype)));
    }
  }
  LoopGeometry geometry;
  geometry.elements = views.back().count();

  // Whatever the axes are called, the result is best written in the order of its memory.
  const core::View& leader = outputs[0].view;
  const auto trivial = [&](std::int64_t axis) { return leader.shape[static_cast<std::size_t>(axis)] == 1; };
  const auto stride = [&](std::int64_t axis) { return std::abs(leader.strides[static_cast<std::size_t>(axis)]); };
  IntList order(leader.shape.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(std::stable_partition(order.begin(), order.end(), trivial), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return stride(a) > stride(b); });
  for (core::View& view : views) view = core::permute(view, order);
  core::collapse(views);
  geometry.crossed = bring_crossed_axis_inwards(views);

  const Shape& shape = views[0].shape;
  const std::size_t rank = shape.size(), inner = std::min<std::size_t>(rank, 2);
  if (inner >= 1) geometry.columns = shape[rank - 1];
  if (inner == 2) geometry.rows = shape[rank - 2];
  for (std::size_t axis = 0; axis + inner < rank; ++axis) geometry.outer.push_back(shape[axis]);
  geometry.outer_count = element_count(geometry.outer);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const core::View& view = views[i];
    LoopGeometry::Place place;
    place.start = view.offset * widths[i];
    if (inner >= 1) place.column = view.strides[rank - 1] * widths[i];
    if (inner == 2) place.row = view.strides[rank - 2] * widths[i];
    for (std::size_t axis = 0; axis + inner < rank; ++axis) place.outer.push_back(view.strides[axis] * widths[i]);
    geometry.places.push_back(std::move(place));
  }
  return geometry;
}

}  // namespace tyto::cpu::jit
