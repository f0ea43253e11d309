// SPDX-License-Identifier: MIT
// Windows as rows and back, and largest elements with their numbers.
#include "tyto/nn/patches.hpp"

#include <limits>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

using Array = Tensor<Any>;

/// Where windows lie along each spatial axis.
struct WindowGrid {
  Shape window, stride, dilation, before, after;
  Shape results;

  std::int64_t places() const { return element_count(results); }
  std::int64_t elements() const { return element_count(window); }
};

WindowGrid grid_of(const char* function, const Shape& space, const PerAxis& window, const PerAxis& stride,
                   const PerAxis& dilation, const Padding& padding) {
  const std::size_t axes = space.size();
  WindowGrid grid{.window = along_space(function, "window", window, axes),
                  .stride = along_space(function, "stride", stride, axes),
                  .dilation = along_space(function, "dilation", dilation, axes),
                  .before = Shape(axes, 0),
                  .after = Shape(axes, 0),
                  .results = Shape(axes, 0)};
  if (padding.kind() == Padding::Kind::explicit_counts) {
    grid.before = along_space(function, "padding", PerAxis(padding.before()), axes);
    grid.after = along_space(function, "padding", PerAxis(padding.after()), axes);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (grid.window[i] < 1 || grid.stride[i] < 1 || grid.dilation[i] < 1) {
      core::throw_error<ValueError>(function, ": the window ", grid.window, ", stride ", grid.stride, " and dilation ",
                                    grid.dilation, " must have lengths from 1 on");
    }
    const std::int64_t extent = grid.dilation[i] * (grid.window[i] - 1) + 1;
    if (padding.kind() == Padding::Kind::same) {
      const std::int64_t results = (space[i] + grid.stride[i] - 1) / grid.stride[i];
      const std::int64_t missing = std::max<std::int64_t>((results - 1) * grid.stride[i] + extent - space[i], 0);
      grid.before[i] = missing / 2;
      grid.after[i] = missing - missing / 2;
    }
    const std::int64_t free = space[i] + grid.before[i] + grid.after[i] - extent;
    if (free < 0) {
      core::throw_error<ShapeError>(function, ": windows of ", grid.window, " do not fit into space of ", space);
    }
    grid.results[i] = free / grid.stride[i] + 1;
  }
  return grid;
}

Shape space_of(const Array& x) { return Shape(std::span(x.shape().data() + 1, x.shape().size() - 2)); }

/// The windows' elements along a new `axis`: each is x from another start in the same steps.
Array side_by_side(const Array& x, const WindowGrid& grid, const Scalar& fill, std::int64_t axis) {
  const std::size_t axes = grid.window.size();
  IntList before{0}, after{0};
  for (std::size_t i = 0; i < axes; ++i) {
    before.push_back(grid.before[i]);
    after.push_back(grid.after[i]);
  }
  before.push_back(0);
  after.push_back(0);
  const Array padded = pad(x, before, after, PaddingMode::constant, fill);
  std::vector<Array> elements;
  Shape at(axes, 0);
  for (std::int64_t k = 0; k < grid.elements(); ++k) {
    std::vector<Index> entries{tyto::all};
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t start = at[i] * grid.dilation[i];
      entries.emplace_back(slice(start, start + (grid.results[i] - 1) * grid.stride[i] + 1, grid.stride[i]));
    }
    elements.push_back(padded.get(entries));
    for (std::size_t i = axes; i-- > 0 && ++at[i] == grid.window[i];) at[i] = 0;
  }
  return stack(elements, axis);
}

Scalar smallest_number(DType dtype) {
  return is_floating(dtype) ? Scalar(-std::numeric_limits<double>::infinity())
                            : Scalar(std::numeric_limits<std::int64_t>::min());
}

}  // namespace

Tensor<Any> Unfold::forward(const Tensor<Any>& x, Phase) const {
  check_space("Unfold", x);
  const WindowGrid grid = grid_of("Unfold", space_of(x), window, options.stride, options.dilation, options.padding);
  const Array elements = side_by_side(x, grid, 0, options.order == nhwc ? -2 : -1);
  return reshape(elements, {x.shape()[0], grid.places(), grid.elements() * x.shape().back()});
}

Tensor<Any> Fold::forward(const Tensor<Any>& patches, Phase) const {
  const WindowGrid grid = grid_of("Fold", size, window, options.stride, options.dilation, options.padding);
  const std::int64_t elements = grid.elements();
  if (patches.ndim() != 3 || patches.shape()[1] != grid.places() || patches.shape()[2] % elements != 0) {
    core::throw_error<ShapeError>("Fold: patches ", patches.shape(), " must be (batch, ", grid.places(),
                                  ", a multiple of ", elements, ") for windows of ", grid.window, " in space of ",
                                  size);
  }
  const std::int64_t batch = patches.shape()[0], channels = patches.shape()[2] / elements;
  // A transposed convolution of each channel on its own, in which element k of a window has a kernel with its one
  // there.
  Array x = patches;
  if (options.order == nhwc) {
    x = transpose(reshape(x, {batch, grid.places(), elements, channels}), {0, 1, 3, 2});
  }
  Shape image{batch}, kernels;
  IntList left, right, extra;
  for (std::size_t i = 0; i < size.size(); ++i) {
    image.push_back(grid.results[i]);
    kernels.push_back(grid.window[i]);
    const std::int64_t extent = grid.dilation[i] * (grid.window[i] - 1) + 1;
    left.push_back(grid.before[i]);
    right.push_back(grid.after[i]);
    extra.push_back((size[i] + grid.before[i] + grid.after[i] - extent) % grid.stride[i]);
  }
  image.push_back(channels * elements);
  kernels.push_back(1);
  kernels.push_back(channels * elements);
  const Array units = reshape(tile(Array::eye(elements, elements, 0, x.dtype()), {1, channels}), kernels);
  return transposed_convolution(reshape(x, image), units,
                                {.stride = PerAxis(IntList(grid.stride)),
                                 .padding = Padding(left, right),
                                 .dilation = PerAxis(IntList(grid.dilation)),
                                 .output_padding = PerAxis(extra),
                                 .groups = channels});
}

namespace detail {

MaxPooled<Any> max_pool_with_indices(const Tensor<Any>& x, const PerAxis& window, const PoolOptions& options) {
  constexpr const char* name = "max_pool_with_indices";
  check_space(name, x);
  if (options.layout != nhwc || options.ceil_mode) {
    core::throw_error<ValueError>(name, ": channels lie last, and no window reaches beyond the end");
  }
  const Shape space = space_of(x);
  const PerAxis& stride = options.stride.empty() ? window : options.stride;
  const WindowGrid grid = grid_of(name, space, window, stride, options.dilation, options.padding);
  const Array found = argmax(side_by_side(x, grid, smallest_number(x.dtype()), 0), 0, true);
  Shape numbers{1};
  for (const std::int64_t length : space) numbers.push_back(length);
  numbers.push_back(1);
  const Array places = side_by_side(reshape(Array::arange(element_count(space)), numbers), grid, 0, 0);
  return {max_pool(x, window, options), squeeze(take_along_axis(places, found, 0), 0)};
}

Tensor<Any> max_unpool(const Tensor<Any>& values, const Tensor<Any>& indices, const PerAxis& window,
                       const UnpoolOptions& options) {
  constexpr const char* name = "max_unpool";
  check_space(name, values);
  if (indices.shape() != values.shape() || !is_integer(indices.dtype())) {
    core::throw_error<ShapeError>(name, ": the indices ", indices.shape(), " of ", name_of(indices.dtype()),
                                  " must be integers in the shape of the values ", values.shape());
  }
  const Shape pooled = space_of(values);
  const Shape lengths = along_space(name, "window", window, pooled.size());
  const Shape stride = along_space(name, "stride", options.stride.empty() ? window : options.stride, pooled.size());
  const Shape padding = along_space(name, "padding", options.padding, pooled.size());
  Shape space = options.size;
  if (space.empty()) {
    for (std::size_t i = 0; i < pooled.size(); ++i) {
      space.push_back((pooled[i] - 1) * stride[i] + lengths[i] - 2 * padding[i]);
    }
  }
  if (space.size() != pooled.size()) {
    core::throw_error<ShapeError>(name, ": the size ", space, " must have ", pooled.size(), " lengths");
  }
  const std::int64_t batch = values.shape()[0], channels = values.shape().back(), places = element_count(pooled);
  const Shape rows{batch, places, channels};
  const Array samples = broadcast_to(reshape(Array::arange(batch), {batch, 1, 1}), rows);
  const Array own = broadcast_to(reshape(Array::arange(channels), {1, 1, channels}), rows);
  const std::int64_t all = element_count(space);
  const Array empty = Array::zeros({batch, all, channels}, values.dtype());
  const Array known =
      check_bounds(as_index(indices), {0, all - 1, name, "index", core::text("places of size ", space)});
  const Array flat = scatter(empty, std::vector<Array>{samples, reshape(known, rows), own}, reshape(values, rows));
  Shape image{batch};
  for (const std::int64_t length : space) image.push_back(length);
  image.push_back(channels);
  return reshape(flat, image);
}

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
