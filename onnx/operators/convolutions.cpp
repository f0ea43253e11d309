// SPDX-License-Identifier: MIT
// Convolutions, their transposes, and those whose windows are deformed.
#include <algorithm>

#include "onnx/operators/convolutions.hpp"
#include "onnx/operators/quantisation.hpp"
#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/resampling.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

Array convolved(const OperatorCall& call, const Array& x, const Array& w, const Array& bias, double zero_point) {
  if (w.ndim() < 3) call.refuse("kernels of shape ", w.shape(), "; expected (out, in, window...)");
  const Windows windows = windows_of(call, x.shape(), IntList(std::span(w.shape().begin() + 2, w.shape().end())));
  if (!windows.any()) call.refuse("windows ", windows.kernel, " do not fit into input ", x.shape());
  Array padded = x;
  Padding padding = windows.padding();
  if (zero_point != 0) {
    IntList before{0, 0}, after{0, 0};
    for (const std::int64_t count : windows.before) before.push_back(count);
    for (const std::int64_t count : windows.after) after.push_back(count);
    padded = pad(x, before, after, PaddingMode::constant, zero_point);
    padding = Padding(IntList(windows.axes(), 0), IntList(windows.axes(), 0));
  }
  if (x.dtype() == DType::u8) padded = cast(padded, w.dtype());
  const Array y = convolution(padded, w,
                              {.stride = windows.stride,
                               .padding = padding,
                               .dilation = windows.dilation,
                               .groups = call.integer("group", 1),
                               .layout = nchw});
  return bias.defined() ? y + by_channel(bias, y.ndim()) : y;
}

namespace {

// Kernels that are known are laid out once in the order in which they are read, (window..., in, out); in eager mode
// each call would do that anew.
Array laid_out(const OperatorCall& call, std::size_t i, const Array& w) {
  if (!call.lazy() || !call.known(i) || w.ndim() < 3) return w;
  // Recorded, to be computed one after the other when constants are folded.
  const Array recorded(Tensor<Lazy>::borrow_bytes(w.bytes().data(), w.shape(), w.dtype(), [kept = w] {}).value());
  IntList there, back{static_cast<std::int64_t>(w.ndim() - 1), static_cast<std::int64_t>(w.ndim() - 2)};
  for (std::int64_t axis = 2; axis < w.ndim(); ++axis) {
    there.push_back(axis);
    back.push_back(axis - 2);
  }
  there.push_back(1);
  there.push_back(0);
  return transpose(copy(transpose(recorded, there)), back);
}

Outputs convolution_rule(const OperatorCall& call) {
  const Array of_bytes = dequantised_convolution(call);
  return {of_bytes.defined() ? of_bytes : convolved(call, call[0], call[1], call.optional(2))};
}

Outputs transposed_rule(const OperatorCall& call) {
  const Array &x = call[0], w = laid_out(call, 1, call[1]);
  if (x.ndim() < 3 || w.ndim() != x.ndim()) call.refuse("kernels ", w.shape(), " for input ", x.shape());
  const std::size_t axes = static_cast<std::size_t>(x.ndim()) - 2;
  call.ignore("kernel_shape");  // the kernels have it
  const IntList stride = per_spatial_axis(call, "strides", axes, 1);
  const IntList dilation = per_spatial_axis(call, "dilations", axes, 1);
  IntList extra = per_spatial_axis(call, "output_padding", axes, 0);
  const std::string_view rule = call.text("auto_pad", "NOTSET");
  const std::vector<std::int64_t> pads = call.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  const std::vector<std::int64_t>& wanted = call.integers("output_shape");
  call.require_bounded("pads", pads);
  call.require_bounded("output_shape", wanted);
  if (pads.size() != 2 * axes || (!wanted.empty() && wanted.size() < axes)) {
    call.refuse(pads.size(), " numbers of padding and ", wanted.size(), " of output_shape for ", axes, " spatial axes");
  }
  IntList before(axes, 0), after(axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t length = axis_length(x, i + 2);
    const std::int64_t whole = stride[i] * (length - 1) + extra[i] + (axis_length(w, i + 2) - 1) * dilation[i] + 1;
    const bool same = rule == "SAME_UPPER" || rule == "SAME_LOWER";
    if (!wanted.empty() || same) {
      // Excess elements are cut off at both ends; the odd one at the end, or at the beginning.
      const std::int64_t size = wanted.empty() ? length * stride[i] : wanted[wanted.size() - axes + i];
      const std::int64_t total = whole - size;
      if (total < 0) extra[i] -= total;
      const std::int64_t cut = std::max<std::int64_t>(total, 0);
      before[i] = rule == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      after[i] = cut - before[i];
    } else if (rule == "NOTSET") {
      before[i] = pads[i];
      after[i] = pads[i + axes];
    } else if (rule != "VALID") {
      call.refuse("auto_pad '", rule, "'; known are NOTSET, SAME_UPPER, SAME_LOWER and VALID");
    }
  }
  const Array y = transposed_convolution(x, w,
                                         {.stride = stride,
                                          .padding = Padding(before, after),
                                          .dilation = dilation,
                                          .output_padding = extra,
                                          .groups = call.integer("group", 1),
                                          .layout = nchw});
  return {call.has(2) ? y + by_channel(call[2], y.ndim()) : y};
}

// The sum of patches that overlap: what a transposed convolution with kernels that are all 0 but one 1 does.
Outputs patches_added(const OperatorCall& call) {
  const std::vector<std::int64_t> image = call.integers_in(1), block = call.integers_in(2);
  const std::size_t axes = block.size();
  const Array& x = call[0];
  const IntList stride = per_spatial_axis(call, "strides", axes, 1);
  const IntList dilation = per_spatial_axis(call, "dilations", axes, 1);
  const std::vector<std::int64_t> pads = call.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (image.size() != axes || pads.size() != 2 * axes || x.ndim() != 3) {
    call.refuse("an image of ", image.size(), " axes, blocks of ", axes, ", input ", x.shape());
  }
  call.require_bounded("image_shape", image);
  call.require_bounded("pads", pads);
  std::int64_t count = 1;
  for (const std::int64_t length : block) {
    // A block cannot be longer than all channels.
    if (length < 1 || length > axis_length(x, 1) / count)
      call.refuse("blocks of ", count, " by ", length, " for ", x.shape());
    count *= length;
  }
  if (axis_length(x, 1) % count != 0) call.refuse("blocks of ", count, " elements for input ", x.shape());
  const std::int64_t channels = axis_length(x, 1) / count;
  Shape grid{axis_length(x, 0), axis_length(x, 1)}, kernels{axis_length(x, 1), 1};
  IntList before, after, extra;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t free = image[i] + pads[i] + pads[i + axes] - dilation[i] * (block[i] - 1) - 1;
    if (free < 0 || stride[i] < 1) call.refuse("blocks that do not fit into the image");
    grid.push_back(free / stride[i] + 1);
    kernels.push_back(block[i]);
    before.push_back(pads[i]);
    after.push_back(pads[i + axes]);
    extra.push_back(free % stride[i]);
  }
  // Kernel k of each channel has its one at place k.
  const Array units = reshape(tile(Array::eye(count, count, 0, x.dtype()), {channels, 1}), kernels);
  return {transposed_convolution(reshape(x, grid), units,
                                 {.stride = stride,
                                  .padding = Padding(before, after),
                                  .dilation = dilation,
                                  .output_padding = extra,
                                  .groups = channels,
                                  .layout = nchw})};
}

// A convolution whose elements are read at places of their own, between elements by straight lines: each tap of a
// window has an offset for each place, and a factor.
Outputs deformed(const OperatorCall& call) {
  const Array &x = call[0], &w = call[1], &offset = call[2];
  if (x.ndim() != 4) call.refuse("an input of shape ", x.shape(), "; expected (batch, channels, height, width)");
  const Windows windows = windows_of(call, x.shape(), {axis_length(w, 2), axis_length(w, 3)});
  const std::int64_t groups = call.integer("group", 1), own = call.integer("offset_group", 1);
  if (w.ndim() != 4 || groups < 1 || own < 1 || axis_length(x, 1) % own != 0 || axis_length(x, 1) % groups != 0 ||
      axis_length(w, 0) % groups != 0) {
    call.refuse(groups, " groups and ", own, " of offsets for input ", x.shape(), " and kernels ", w.shape());
  }
  const std::int64_t n = axis_length(x, 0), c = axis_length(x, 1), h = axis_length(x, 2), width = axis_length(x, 3);
  const std::int64_t taps = windows.size(), oh = windows.results[0], ow = windows.results[1];
  if (static_cast<double>(taps) * static_cast<double>(oh) * static_cast<double>(ow) > 0x1p40) {
    call.refuse("windows ", windows.results, " of ", taps, " elements are more than memory holds");
  }
  // Where each tap would read without its offset, along one axis of two.
  const auto places = [&](std::size_t axis) {
    std::vector<double> at;
    for (std::int64_t k = 0; k < taps; ++k) {
      const std::int64_t tap = axis == 0 ? k / windows.kernel[1] : k % windows.kernel[1];
      for (std::int64_t i = 0; i < oh * ow; ++i) {
        const std::int64_t place = axis == 0 ? i / ow : i % ow;
        at.push_back(
            static_cast<double>(place * windows.stride[axis] + tap * windows.dilation[axis] - windows.before[axis]));
      }
    }
    return cast(Array::from(at, {1, taps, oh * ow}), x.dtype());
  };
  const Array moved = reshape(offset, {n * own, taps, 2, oh * ow});
  // Coordinates of a grid run from -1 to 1, the last axis first.
  const auto normal = [](const Array& place, std::int64_t length) {
    return place * (2 / static_cast<double>(std::max<std::int64_t>(length - 1, 1))) - 1.0;
  };
  const Array rows = normal(places(0) + at_position(moved, 2, 0), h);
  const Array columns = normal(places(1) + at_position(moved, 2, 1), width);
  Array read = grid_sample(reshape(x, {n * own, c / own, h, width}), stack<Any>({columns, rows}, -1),
                           {.corners = true, .layout = nchw});  // (batch * own, channels / own, taps, places)
  if (call.has(4)) read = read * reshape(call[4], {n * own, 1, taps, oh * ow});
  const Array patches = reshape(read, {n, groups, c / groups * taps, oh * ow});
  const Array y =
      reshape(matmul(reshape(w, {groups, axis_length(w, 0) / groups, -1}), patches), {n, axis_length(w, 0), oh, ow});
  return {call.has(3) ? y + by_channel(call[3], 4) : y};
}

constexpr OperatorRow convolution_table[] = {
    {"Col2Im", 18, patches_added},
    {"Conv", 1, convolution_rule},
    {"ConvTranspose", 1, transposed_rule},
    {"DeformConv", 19, deformed},
};

}  // namespace

std::span<const OperatorRow> convolution_rows() { return convolution_table; }

}  // namespace tyto::onnx
