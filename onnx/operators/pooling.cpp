// SPDX-License-Identifier: MIT
// Pooling: largest elements, means and norms of windows.
#include <algorithm>
#include <limits>

#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

PoolOptions options_of(const Windows& w) {
  return {.stride = w.stride, .padding = w.padding(), .dilation = w.dilation, .layout = nchw};
}

Scalar smallest_number(DType dtype) {
  switch (dtype) {
    case DType::u8: return 0;
    case DType::i8: return -128;
    default: return -std::numeric_limits<double>::infinity();
  }
}

// The empty result of pooling without windows.
Array nothing_of(const Array& x, const Windows& w, DType dtype) {
  Shape shape{axis_length(x, 0), axis_length(x, 1)};
  for (const std::int64_t count : w.results) shape.push_back(count);
  return Array::zeros(shape, dtype);
}

// The windows' elements side by side along a new first axis: each is x from another start in the same steps.
Array side_by_side(const Array& x, const Windows& w, const Scalar& fill) {
  IntList before(2, 0), after(2, 0);
  for (std::size_t i = 0; i < w.axes(); ++i) {
    before.push_back(w.before[i]);
    after.push_back(w.after[i]);
  }
  const Array padded = pad(x, before, after, PaddingMode::constant, fill);
  require_numbers(w.size());
  std::vector<Array> elements;
  IntList at(w.axes(), 0);
  for (std::int64_t k = 0; k < w.size(); ++k) {
    std::vector<Index> entries{all, all};
    for (std::size_t i = 0; i < w.axes(); ++i) {
      const std::int64_t start = at[i] * w.dilation[i];
      entries.emplace_back(slice(start, start + (w.results[i] - 1) * w.stride[i] + 1, w.stride[i]));
    }
    elements.push_back(padded.get(entries));
    for (std::size_t i = w.axes(); i-- > 0 && ++at[i] == w.kernel[i];) at[i] = 0;
  }
  return stack(elements, 0);
}

// The number that each element of x has, counted over all of it; `by_columns` counts the first spatial axis fastest.
Array numbers_of_elements(const Shape& shape, bool by_columns) {
  const std::int64_t size = element_count(shape);
  if (!by_columns) return reshape(Array::arange(size), shape);
  Shape turned{shape[0], shape[1]};
  IntList order{0, 1};
  for (std::size_t i = shape.size(); i-- > 2;) {
    turned.push_back(shape[i]);
    order.push_back(static_cast<std::int64_t>(i));
  }
  return transpose(reshape(Array::arange(size), turned), order);
}

// How many elements of the input (with its stated padding, if that counts) each window covers.
Array covered(const Shape& input, const Windows& w, bool count_padding) {
  Array counts = Array::full({}, 1.0);
  for (std::size_t i = 0; i < w.axes(); ++i) {
    const std::int64_t begin = count_padding ? 0 : w.before[i];
    const std::int64_t end = w.before[i] + input[i + 2] + (count_padding ? w.counted_after[i] : 0);
    require_numbers(w.results[i]);
    std::vector<float> along;
    for (std::int64_t k = 0; k < w.results[i]; ++k) {
      // Taps j of the window that lie in [begin, end).
      const std::int64_t start = k * w.stride[i], step = w.dilation[i];
      const auto first_at = [&](std::int64_t place) {
        return std::clamp<std::int64_t>(place <= start ? 0 : (place - start + step - 1) / step, 0, w.kernel[i]);
      };
      along.push_back(static_cast<float>(std::max<std::int64_t>(first_at(end) - first_at(begin), 1)));
    }
    Shape shape(w.axes(), 1);
    shape[i] = w.results[i];
    counts = counts * reshape(Array::from(along, {w.results[i]}), shape);
  }
  return counts;
}

}  // namespace

Array window_means(const OperatorCall& call, const Array& x) {
  const Windows w = windows_of(call, x.shape());
  const bool count_padding = call.integer("count_include_pad", 0) != 0;
  if (!w.any()) return nothing_of(x, w, x.dtype());
  PoolOptions options = options_of(w);
  const bool exotic = std::any_of(w.dilation.begin(), w.dilation.end(), [](std::int64_t d) { return d != 1; });
  if (!exotic && !(count_padding && w.overhang())) {
    options.count_padding = count_padding;
    return average_pool(x, w.kernel, options);
  }
  options.count_padding = true;
  const Array total = average_pool(x, w.kernel, options) * static_cast<double>(w.size());
  return total / cast(covered(x.shape(), w, count_padding), x.dtype());
}

namespace {

Outputs largest_in_windows(const OperatorCall& call) {
  const Array& x = call[0];
  const Windows w = windows_of(call, x.shape());
  const bool by_columns = call.integer("storage_order", 0) != 0;
  if (!w.any()) return {nothing_of(x, w, x.dtype()), nothing_of(x, w, DType::i64)};
  if (!call.wants(1)) return {max_pool(x, w.kernel, options_of(w))};
  const Array elements = side_by_side(x, w, smallest_number(x.dtype()));
  const Array place = argmax(elements, 0, true);
  const Array numbers = side_by_side(numbers_of_elements(x.shape(), by_columns), w, 0);
  return {max(elements, 0), squeeze(take_along_axis(numbers, place, 0), 0)};
}

Outputs means_of_windows(const OperatorCall& call) { return {window_means(call, call[0])}; }

Outputs norms_of_windows(const OperatorCall& call) {
  const Array& x = call[0];
  const Windows w = windows_of(call, x.shape());
  const double p = static_cast<double>(call.integer("p", 2));
  if (!w.any()) return {nothing_of(x, w, x.dtype())};
  PoolOptions options = options_of(w);
  options.count_padding = true;
  const Array powers = power(abs(halves_in_f32(x)), p);
  const Array sums = average_pool(powers, w.kernel, options) * static_cast<double>(w.size());
  return {cast(power(sums, 1 / p), x.dtype())};
}

IntList spatial_axes(const OperatorCall& call) {
  IntList axes;
  for (std::int64_t i = 2; i < call[0].ndim(); ++i) axes.push_back(i);
  return axes;
}

Outputs mean_of_image(const OperatorCall& call) { return {global_average_pool(call[0], true, nchw)}; }
Outputs largest_of_image(const OperatorCall& call) { return {max(call[0], spatial_axes(call), true)}; }
Outputs norm_of_image(const OperatorCall& call) {
  const double p = static_cast<double>(call.integer("p", 2));
  const Array powers = power(abs(halves_in_f32(call[0])), p);
  return {cast(power(sum(powers, spatial_axes(call), true), 1 / p), call[0].dtype())};
}

// Each value goes back to where it came from. Places are counted in an image of the size that windows without overlap
// would come from; a larger one is padded.
Outputs unpooled(const OperatorCall& call) {
  const Array& x = call[0];
  if (x.ndim() < 3) call.refuse("input of shape ", x.shape(), "; expected (batch, channels, spatial...)");
  const std::size_t axes = static_cast<std::size_t>(x.ndim()) - 2;
  const IntList kernel = per_spatial_axis(call, "kernel_shape", axes, 1),
                stride = per_spatial_axis(call, "strides", axes, 1);
  const std::vector<std::int64_t> pads = call.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (pads.size() != 2 * axes) call.refuse(pads.size(), " numbers of padding for ", axes, " spatial axes");
  call.require_bounded("pads", pads);
  Shape shape{axis_length(x, 0), axis_length(x, 1)};
  for (std::size_t i = 0; i < axes; ++i) {
    shape.push_back((axis_length(x, i + 2) - 1) * stride[i] + kernel[i] - pads[i] - pads[i + axes]);
  }
  const Array places = reshape(call[1], {-1});
  const Array flat = scatter(zeros_like(broadcast_to(Array::full({}, 0, x.dtype()), {element_count(shape)})), {places},
                             reshape(x, {-1}));
  const Array image = reshape(flat, shape);
  if (!call.has(2)) return {image};
  const std::vector<std::int64_t> wanted = call.integers_in(2);
  call.require_bounded("output_shape", wanted);
  if (wanted.size() != shape.size()) call.refuse("output_shape of ", wanted.size(), " axes for ", shape);
  IntList after;
  for (std::size_t i = 0; i < shape.size(); ++i) after.push_back(wanted[i] - shape[i]);
  return {pad(image, IntList(shape.size(), 0), after)};
}

constexpr OperatorRow pooling_table[] = {
    {"AveragePool", 7, means_of_windows}, {"GlobalAveragePool", 1, mean_of_image},
    {"GlobalLpPool", 2, norm_of_image},   {"GlobalMaxPool", 1, largest_of_image},
    {"LpPool", 2, norms_of_windows},      {"MaxPool", 1, largest_in_windows},
    {"MaxUnpool", 9, unpooled},
};

}  // namespace

std::span<const OperatorRow> pooling_rows() { return pooling_table; }

}  // namespace tyto::onnx
