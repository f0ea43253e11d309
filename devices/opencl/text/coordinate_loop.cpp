// SPDX-License-Identifier: MIT
// Writes the index arithmetic by which each work-item finds the coordinates of its element.
#include "devices/opencl/text/coordinate_loop.hpp"

#include <algorithm>

#include "core/value/text.hpp"

namespace tyto::opencl {

CoordinateLoop::CoordinateLoop(const Context& context, const Shape& shape)
    : context_(context), shape_(shape), count_(element_count(shape)) {
  if (shape_.empty()) shape_.push_back(1);
}

std::string CoordinateLoop::coordinate(std::int64_t axis) const { return text("c", axis); }

void CoordinateLoop::open(KernelText& kernel) const {
  kernel.number("count", count_);
  for (std::int64_t axis = 1; axis < rank(); ++axis)
    kernel.number(text("n", axis), shape_[static_cast<std::size_t>(axis)]);
  kernel.line(text("  const ", kernel.index(), " i = get_global_id(0);"));
  kernel.line("  if (i >= count) return;");
  kernel.line(text("  ", kernel.index(), " rest = i;"));
  for (std::int64_t axis = rank() - 1; axis > 0; --axis) {
    kernel.line(text("  ", kernel.index(), " c", axis, " = rest % n", axis, "; rest /= n", axis, ";"));
  }
  kernel.line(text("  ", kernel.index(), " c0 = rest;"));
}

KernelLaunch CoordinateLoop::close(KernelText& kernel) const {
  KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", context_.group, ", 1, 1))) "));
  launch.local[0] = context_.group;
  launch.global[0] = (static_cast<std::size_t>(count_) + context_.group - 1) / context_.group * context_.group;
  return launch;
}

bool fits_int(std::span<const core::View> views) {
  constexpr std::int64_t limit = std::int64_t{1} << 29;
  return std::ranges::all_of(views, [](const core::View& view) {
    const core::ElementRange range = core::touched(core::View{view.shape, view.strides, 0});
    return view.count() < limit && range.first > -limit && range.past < limit;
  });
}

bool fits_int(const core::Step& step) {
  std::vector<core::View> views{step.outputs[0].view};
  for (const core::Operand& operand : step.inputs) views.push_back(operand.view);
  return fits_int(views);
}

void StridedMemory::declare(KernelText& kernel) const {
  for (std::size_t axis = 0; axis < view_.shape.size(); ++axis) {
    const std::int64_t stride = view_.strides[axis];
    if (stride != 0 && stride != 1) kernel.number(text(name_, "_s", axis), stride);
  }
}

std::string StridedMemory::place(std::span<const std::string> coordinates) const {
  std::string sum;
  for (std::size_t axis = 0; axis < view_.shape.size(); ++axis) {
    const std::int64_t stride = view_.strides[axis];
    if (stride == 0 || coordinates[axis].empty()) continue;
    sum += text(sum.empty() ? "" : " + ", "(", coordinates[axis], ")");
    if (stride != 1) sum += text(" * ", name_, "_s", axis);
  }
  return sum.empty() ? "0" : sum;
}

}  // namespace tyto::opencl
