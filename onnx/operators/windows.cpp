// SPDX-License-Identifier: MIT
// Resolves padding rules and defaults of windows to numbers.
#include "onnx/operators/windows.hpp"

#include <algorithm>

#include "tyto/shaping.hpp"

namespace tyto::onnx {

IntList per_spatial_axis(const OperatorCall& call, const char* attribute, std::size_t axes, std::int64_t otherwise) {
  const std::vector<std::int64_t>& given = call.integers(attribute);
  if (given.empty()) return IntList(axes, otherwise);
  if (given.size() != axes) call.refuse(attribute, " has ", given.size(), " numbers for ", axes, " spatial axes");
  call.require_bounded(attribute, given);
  return IntList(std::span(given));
}

Windows windows_of(const OperatorCall& call, const Shape& input, const IntList& kernel) {
  if (input.size() < 3) call.refuse("input of shape ", input, "; expected (batch, channels, spatial...)");
  Windows w;
  const std::size_t axes = input.size() - 2;
  const std::vector<std::int64_t> stated = call.integers("kernel_shape", {kernel.begin(), kernel.end()});
  w.kernel = IntList(std::span(stated));
  if (w.kernel.size() != axes) call.refuse("windows ", w.kernel, " for ", axes, " spatial axes");
  w.stride = per_spatial_axis(call, "strides", axes, 1);
  w.dilation = per_spatial_axis(call, "dilations", axes, 1);
  const std::string_view rule = call.text("auto_pad", "NOTSET");
  const bool up = call.integer("ceil_mode", 0) != 0;
  std::vector<std::int64_t> pads = call.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (pads.size() != 2 * axes) call.refuse(pads.size(), " numbers of padding for ", axes, " spatial axes");
  call.require_bounded("kernel_shape", w.kernel);
  call.require_bounded("pads", pads);
  w.before = w.after = w.counted_after = w.results = IntList(axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t length = input[i + 2];
    if (w.stride[i] < 1 || w.dilation[i] < 1 || w.kernel[i] < 1) {
      call.refuse("windows ", w.kernel, ", strides ", w.stride, ", dilations ", w.dilation, " must be at least 1");
    }
    if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
      const std::int64_t results = (length + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>((results - 1) * w.stride[i] + w.reach(i) - length, 0);
      w.before[i] = rule == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[i] = total - w.before[i];
    } else if (rule == "NOTSET") {
      w.before[i] = pads[i];
      w.after[i] = pads[i + axes];
    } else if (rule != "VALID") {
      call.refuse("auto_pad '", rule, "'; known are NOTSET, SAME_UPPER, SAME_LOWER and VALID");
    }
    w.counted_after[i] = w.after[i];
    // The count is rounded down, and so may be none where less than a step is missing.
    const std::int64_t free = length + w.before[i] + w.after[i] - w.reach(i), step = w.stride[i];
    w.results[i] = free >= 0 ? free / step + 1 : (free + 1) / step;
    if (w.results[i] < 0) {
      call.refuse("windows ", w.kernel, " do not fit into input ", input, " padded by ", w.before, " and ", w.after);
    }
    // One more window where elements are left over, unless it would begin in the padding behind the input.
    if (up && free % step != 0 && w.results[i] * step < length + w.before[i]) {
      w.after[i] += w.results[i] * w.stride[i] - free;
      ++w.results[i];
    }
  }
  return w;
}

Array by_channel(const Array& numbers, int rank) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[1] = numbers.size();
  return reshape(numbers, shape);
}

}  // namespace tyto::onnx
