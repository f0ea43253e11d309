// SPDX-License-Identifier: MIT
// CPU style: an item takes a run of elements, row by row, with a plain innermost loop. GPU style: an item an element.
#include "devices/opencl/text/coordinate_loop.hpp"

#include <algorithm>

#include "core/value/text.hpp"

namespace tyto::opencl {

namespace {

constexpr std::int64_t smallest_run = 2048;  // elements that make an item worth its start
constexpr std::int64_t run_granule = 64;     // shares end on multiples of it, so that no vector is cut

}  // namespace

CoordinateLoop::CoordinateLoop(const Context& context, const Shape& shape, std::int64_t element_work)
    : context_(context), shape_(shape), count_(element_count(shape)) {
  if (shape_.empty()) shape_.push_back(1);
  const std::int64_t most = static_cast<std::int64_t>(context.units) * 4;
  const std::int64_t least = std::max<std::int64_t>(smallest_run / element_work, 1);
  const std::int64_t items = std::clamp<std::int64_t>(count_ / least, 1, most);
  const std::int64_t share = std::max<std::int64_t>((count_ + items - 1) / items, 1);
  const std::int64_t granule = element_work == 1 ? run_granule : 1;
  chunk_ = (share + granule - 1) / granule * granule;
}

std::string CoordinateLoop::coordinate(std::int64_t axis) const { return text("c", axis); }

void CoordinateLoop::open(KernelText& kernel) const {
  const std::int64_t inner = rank() - 1;
  kernel.number("count", count_);
  for (std::int64_t axis = 1; axis < rank(); ++axis)
    kernel.number(text("n", axis), shape_[static_cast<std::size_t>(axis)]);
  const auto split = [&](std::string_view position) {
    kernel.line(text("  ", kernel.index(), " rest = ", position, ";"));
    for (std::int64_t axis = inner; axis > 0; --axis) {
      kernel.line(text("  ", kernel.index(), " c", axis, " = rest % n", axis, "; rest /= n", axis, ";"));
    }
    kernel.line(text("  ", kernel.index(), " c0 = rest;"));
  };
  if (context_.style == Style::gpu) {
    kernel.line(text("  const ", kernel.index(), " i = get_global_id(0);"));
    kernel.line("  if (i >= count) return;");
    split("i");
    kernel.line("  {");
    return;
  }
  kernel.number("chunk", chunk_);
  kernel.line(text("  const ", kernel.index(), " begin = (", kernel.index(), ")get_global_id(0) * chunk;"));
  kernel.line(text("  const ", kernel.index(), " end = min(begin + chunk, count);"));
  if (inner == 0) {
    kernel.line(text("  for (", kernel.index(), " c0 = begin; c0 < end; ++c0) {"));
    kernel.line(text("    const ", kernel.index(), " i = c0;"));
    return;
  }
  // The outer coordinates count on like an odometer from row to row.
  kernel.line(text("  ", kernel.index(), " rest = begin;"));
  kernel.line(text("  ", kernel.index(), " from = rest % n", inner, "; rest /= n", inner, ";"));
  for (std::int64_t axis = inner - 1; axis > 0; --axis) {
    kernel.line(text("  ", kernel.index(), " c", axis, " = rest % n", axis, "; rest /= n", axis, ";"));
  }
  kernel.line(text("  ", kernel.index(), " c0 = rest;"));
  kernel.line(text("  for (", kernel.index(), " done = begin; done < end;) {"));
  kernel.line(text("    const ", kernel.index(), " past = min(n", inner, ", from + end - done);"));
  kernel.line(text("    const ", kernel.index(), " row = done - from;"));
  kernel.line(text("    for (", kernel.index(), " c", inner, " = from; c", inner, " < past; ++c", inner, ") {"));
  kernel.line(text("    const ", kernel.index(), " i = row + c", inner, ";"));
}

KernelLaunch CoordinateLoop::close(KernelText& kernel) const {
  kernel.line("  }");
  if (context_.style == Style::gpu) {
    KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", context_.group, ", 1, 1))) "));
    launch.local[0] = context_.group;
    launch.global[0] = (static_cast<std::size_t>(count_) + context_.group - 1) / context_.group * context_.group;
    return launch;
  }
  const std::int64_t inner = rank() - 1;
  if (inner > 0) {
    kernel.line("    done += past - from; from = 0;");
    for (std::int64_t axis = inner - 1; axis > 0; --axis) {
      kernel.line(text("    if (++c", axis, " == n", axis, ") { c", axis, " = 0;"));
    }
    kernel.line(text("    ++c0;", std::string(static_cast<std::size_t>(inner - 1), '}')));
    kernel.line("  }");
  }
  KernelLaunch launch = kernel.finish();
  launch.global[0] = static_cast<std::size_t>((count_ + chunk_ - 1) / chunk_);
  return launch;
}

bool fits_int(std::span<const core::View> views) {
  constexpr std::int64_t limit = std::int64_t{1} << 29;
  return std::ranges::all_of(views, [](const core::View& view) {
    const core::ElementRange range = core::touched(core::View{view.shape, view.strides, 0});
    return view.count() < limit && range.first > -limit && range.past < limit;
  });
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
