// SPDX-License-Identifier: MIT
// Sorts and merges the axes of a reduction.
#include "devices/cpu/reduce/sorted_axes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tyto::cpu {

namespace {

IntList reduced_axes(const core::Step& step) {
  if (const auto* axis = std::get_if<core::ArgAttributes>(step.attributes)) return {axis->axis};
  if (const auto* variance = std::get_if<core::VarianceAttributes>(step.attributes)) return variance->axes;
  return std::get<core::AxesAttributes>(*step.attributes).axes;
}

/// Merges neighbours that one stride can express.
void merge(std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.length == 1) continue;
    if (!merged.empty() && merged.back().in == axis.length * axis.in && merged.back().out == axis.length * axis.out) {
      merged.back() = {merged.back().length * axis.length, axis.in, axis.out};
    } else {
      merged.push_back(axis);
    }
  }
  axes = std::move(merged);
}

}  // namespace

SortedAxes sorted_axes(const core::Step& step, bool ordered) {
  const core::View& in = step.inputs[0].view;
  const core::View& out = step.outputs[0].view;
  const IntList reduced = reduced_axes(step);
  SortedAxes axes;
  axes.in = in.offset;
  axes.out = out.offset;
  // Strides of a dense result over the kept axes; whether reduced ones stay as ones makes no difference to them.
  std::int64_t stride = 1;
  for (std::size_t i = in.shape.size(); i-- > 0;) {
    const bool folded = std::find(reduced.begin(), reduced.end(), static_cast<std::int64_t>(i)) != reduced.end();
    Axis axis{in.shape[i], in.strides[i], folded ? 0 : stride};
    // Downward axes are traversed upward from their other end, except where the order of elements matters.
    if (axis.in < 0 && axis.length > 0 && !(folded && ordered)) {
      axes.in += (axis.length - 1) * axis.in;
      axes.out += (axis.length - 1) * axis.out;
      axis.in = -axis.in;
      axis.out = -axis.out;
    }
    if (!folded) stride *= axis.length;
    (folded ? axes.folded : axes.kept).insert((folded ? axes.folded : axes.kept).begin(), axis);
  }
  if (!ordered) {
    // A repeated axis (stride 0) goes outermost, the densest innermost.
    std::stable_sort(axes.folded.begin(), axes.folded.end(), [](const Axis& a, const Axis& b) {
      return (a.in == 0 ? INT64_MAX : a.in) > (b.in == 0 ? INT64_MAX : b.in);
    });
  }
  merge(axes.folded);
  merge(axes.kept);
  return axes;
}

StridedIterator<2> iterator_over(const std::vector<Axis>& axes, std::int64_t in, std::int64_t out) {
  std::array<core::View, 2> views;
  for (const Axis& axis : axes) {
    views[0].shape.push_back(axis.length);
    views[0].strides.push_back(axis.in);
    views[1].strides.push_back(axis.out);
  }
  views[1].shape = views[0].shape;
  views[0].offset = in;
  views[1].offset = out;
  return StridedIterator<2>(std::move(views));
}

}  // namespace tyto::cpu
