// SPDX-License-Identifier: MIT
// Splits the views of attention into stacks of matrices.
#include "devices/cpu/products/attention/operands.hpp"

namespace tyto::cpu::attention {

MatrixStack MatrixStack::of(const core::Operand& operand, bool vectors) {
  const core::View& view = operand.view;
  const std::size_t rank = view.shape.size(), inner = vectors ? 1 : 2;
  MatrixStack stack;
  stack.dtype = operand.dtype;
  stack.rows = view.shape[rank - inner];
  stack.row_stride = view.strides[rank - inner];
  stack.columns = vectors ? 1 : view.shape[rank - 1];
  stack.column_stride = vectors ? 1 : view.strides[rank - 1];
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + inner < rank; ++axis) count *= view.shape[axis];
  stack.starts.reserve(static_cast<std::size_t>(count));
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t start = view.offset, rest = number;
    for (std::size_t axis = rank - inner; axis-- > 0;) {
      start += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    stack.starts.push_back(start);
  }
  return stack;
}

}  // namespace tyto::cpu::attention
