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
  made.length_ = length;
  const Shape& shape = operands[0].view.shape;
  std::size_t around = shape.size();
  for (std::int64_t elements = 1; elements != length; elements *= shape[around]) {
    if (around == 0 || elements > length) return {};
    --around;
  }
  std::vector<core::View> views;
  for (const core::Operand& operand : operands) {
    const auto stride = only_stride(operand.view, around);
    if (!stride) return {};
    core::View view;
    for (std::size_t axis = 0; axis < around; ++axis) {
      view.shape.push_back(shape[axis]);
      view.strides.push_back(operand.view.strides[axis]);
    }
    views.push_back(std::move(view));
    const auto width = static_cast<std::ptrdiff_t>(size_of(operand.dtype));
    made.layouts_.push_back({operand.view.offset * width, 0, *stride * width, {}, Access::contiguous});
  }
  core::collapse(views);
  const std::size_t rank = views[0].shape.size();
  if (rank > 0) made.rows_ = views[0].shape[rank - 1];
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) made.outer_.push_back(views[0].shape[axis]);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto width = static_cast<std::ptrdiff_t>(size_of(operands[i].dtype));
    OperandLayout& layout = made.layouts_[i];
    if (rank > 0) layout.row = views[i].strides[rank - 1] * width;
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) layout.outer.push_back(views[i].strides[axis] * width);
    const std::ptrdiff_t inner = made.single_ ? layout.row : layout.column;
    const std::int64_t inner_length = made.single_ ? made.rows_ : length;
    layout.access = inner_length == 1 || inner == width ? Access::contiguous
                    : inner == 0                        ? Access::broadcast
                                                        : Access::strided;
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
