// SPDX-License-Identifier: MIT
// Splits a shape into the axes of its rows and those around them.
#include "devices/cpu/loop/jit/row_layouts.hpp"

namespace tyto::cpu::jit {

namespace {

/// The stride with which a view crosses its last axes from `axis` on, if it is one.
std::optional<std::int64_t> only_stride(const core::View& view, std::size_t axis) {
  std::optional<std::int64_t> stride;
  std::int64_t passed = 1;
  for (std::size_t i = view.shape.size(); i-- > axis;) {
    if (view.shape[i] == 1) continue;
    if (stride && view.strides[i] != *stride * passed) return {};
    if (!stride) stride = view.strides[i];
    passed *= view.shape[i];
  }
  return stride.value_or(0);
}

}  // namespace

std::optional<RowLayouts> RowLayouts::of(std::span<const core::Operand> operands, std::int64_t length) {
  RowLayouts made;
  made.single_ = length == 1;
  const Shape& shape = operands[0].view.shape;
  std::size_t around = shape.size();
  for (std::int64_t elements = 1; elements != length; elements *= shape[around]) {
    if (around == 0 || elements > length) return {};
    --around;
  }
  OrderedAxes axes;
  std::vector<std::int64_t> columns;
  for (const core::Operand& operand : operands) {
    const auto stride = only_stride(operand.view, around);
    if (!stride) return {};
    columns.push_back(*stride);
    core::View view{{}, {}, operand.view.offset};
    for (std::size_t axis = 0; axis < around; ++axis) {
      view.shape.push_back(shape[axis]);
      view.strides.push_back(operand.view.strides[axis]);
    }
    axes.views.push_back(std::move(view));
    axes.widths.push_back(static_cast<std::ptrdiff_t>(size_of(operand.dtype)));
  }
  core::collapse(axes.views);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    axes.views[i].shape.push_back(length);
    axes.views[i].strides.push_back(columns[i]);
  }
  made.geometry_ = loop_geometry(axes, 2);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::int64_t inner = made.single_ ? made.rows() : length;
    made.access_.push_back(access_of(made.column(i), inner, operands[i].dtype));
  }
  return made;
}

RowLayouts RowLayouts::longest(std::span<const core::Operand> operands) {
  const Shape& shape = operands[0].view.shape;
  std::int64_t length = element_count(shape);
  for (const std::int64_t extent : shape) {
    if (auto made = of(operands, length)) return std::move(*made);
    length /= extent;
  }
  return *of(operands, 1);
}

}  // namespace tyto::cpu::jit
