// SPDX-License-Identifier: MIT
// Exports convolutions, pools, resizing and their gradients to ONNX, channels first, as ONNX has them, between
// transposes that cancel with those of their neighbours.
#include <utility>

#include "onnx/write/export.hpp"
#include "tyto/shaping.hpp"
#include "tyto/windows.hpp"

namespace tyto::onnx {

namespace {

IntList channels_first(int rank) {
  IntList order{0, rank - 1};
  for (std::int64_t i = 1; i < rank - 1; ++i) order.push_back(i);
  return order;
}
IntList channels_last(int rank) {
  IntList order{0};
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
IntList pads_of(const ExportedNode& n) {
  IntList pads = n.list("before");
  for (const std::int64_t each : n.list("after")) pads.push_back(each);
  return pads;
}

/// Kernels (window..., in, out) are written (out, in, window...).
Name kernels_of(const ExportedNode& n) {
  const int rank = n.rank();
  IntList order{rank - 1, rank - 2};
  for (std::int64_t i = 0; i < rank - 2; ++i) order.push_back(i);
  return n.out().transposed(n.as_result(1), order);
}

/// An operand channels first.
Name image_of(const ExportedNode& n, std::size_t i) {
  return n.out().transposed(n.as_result(i), channels_first(n.input(i).shape.rank()));
}

Names convolved_image(const ExportedNode& n) {
  const int rank = n.rank();
  GraphExport& out = n.out();
  const Name y = n.add("Conv", {image_of(n, 0), kernels_of(n)},
                       {{"strides", n.list("stride")},
                        {"dilations", n.list("dilation")},
                        {"pads", pads_of(n)},
                        {"group", n.integer("groups")}});
  return {out.transposed(y, channels_last(rank))};
}

/// A pool of so many results.
Names pooled(const ExportedNode& n, const char* op, std::size_t results, Attributes more = {}) {
  std::vector<Written> attributes(more.begin(), more.end());
  const IntList pads = pads_of(n);
  for (const Written& each : {Written("kernel_shape", n.list("window")), Written("strides", n.list("stride")),
                              Written("dilations", n.list("dilation")), Written("pads", pads)}) {
    attributes.push_back(each);
  }
  return n.out().nodes(op, {image_of(n, 0)}, results, attributes);
}
Names largest_of_windows(const ExportedNode& n) {
  return {n.out().transposed(pooled(n, "MaxPool", 1)[0], channels_last(n.rank()))};
}
Names mean_of_windows(const ExportedNode& n) {
  const Names y = pooled(n, "AveragePool", 1, {{"count_include_pad", n.integer("count_padding")}});
  return {n.out().transposed(y[0], channels_last(n.rank()))};
}

/// A result's shape channels first.
Shape sizes_of(const ExportedNode& n) {
  Shape sizes{n.result().shape[0], n.result().shape.back()};
  for (std::size_t i = 1; i + 1 < n.result().shape.size(); ++i) sizes.push_back(n.result().shape[i]);
  return sizes;
}

/// Windows that the elements of the first operand, channels first, are spread over.
Names spread_over_windows(const ExportedNode& n, Name image, Name kernels, std::int64_t groups) {
  const IntList window = n.list("window"), stride = n.list("stride"), dilation = n.list("dilation"),
                before = n.list("before"), after = n.list("after");
  IntList beyond;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t reached =
        stride[i] * (n.input(0).shape[i + 1] - 1) + (window[i] - 1) * dilation[i] + 1 - before[i] - after[i];
    beyond.push_back(n.result().shape[i + 1] - reached);
  }
  const Name y = n.add("ConvTranspose", {image, kernels},
                       {{"strides", stride},
                        {"dilations", dilation},
                        {"pads", pads_of(n)},
                        {"output_padding", beyond},
                        {"group", groups}});
  return {n.out().transposed(y, channels_last(n.rank()))};
}

// Operands: the result's gradient, kernels.
Names transposed_convolution(const ExportedNode& n) {
  return spread_over_windows(n, image_of(n, 0), kernels_of(n), n.integer("groups"));
}

/// How many elements of an image (channels first, one channel) each window has its mean of.
Tensor<Eager> counts_of_windows(const ExportedNode& n) {
  const IntList window = n.list("window"), stride = n.list("stride"), dilation = n.list("dilation"),
                before = n.list("before");
  const std::size_t axes = window.size();
  Tensor<Eager> counts = Tensor<Eager>::ones({}, DType::f64);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t length = n.result().shape[i + 1], windows = n.input(0).shape[i + 1];
    std::vector<double> of_axis;
    for (std::int64_t k = 0; k < windows; ++k) {
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < window[i]; ++j) {
        const std::int64_t at = k * stride[i] - before[i] + j * dilation[i];
        count += n.truth("count_padding") || (at >= 0 && at < length) ? 1 : 0;
      }
      of_axis.push_back(static_cast<double>(count));
    }
    IntList shape(axes, 1);
    shape[i] = windows;
    counts = counts * reshape(Tensor<Eager>::from(of_axis, {windows}), shape);
  }
  return counts;
}

Names gradient_of_means(const ExportedNode& n) {
  GraphExport& out = n.out();
  const Name counts = out.constant(counts_of_windows(n).astype(n.computed_in()));
  const std::int64_t channels = n.result().shape.back();
  Shape kernels{channels, 1};
  for (const std::int64_t length : n.list("window")) kernels.push_back(length);
  return spread_over_windows(n, n.add("Div", {image_of(n, 0), counts}),
                             out.constant(Tensor<Eager>::ones(kernels, n.computed_in())), channels);
}

/// Numbers of the largest element of each window, in a row of all elements channels first.
Name places_of_largest(const ExportedNode& n) {
  const Name places = pooled(n, "MaxPool", 2)[1];
  return n.reshaped(places, {-1});
}
Name in_a_row(const ExportedNode& n, std::size_t i) { return n.reshaped(image_of(n, i), {-1}); }

// Operands: the input, the result's gradient.
Names gradient_of_largest(const ExportedNode& n) {
  GraphExport& out = n.out();
  const Name zeros = n.add("Expand", {n.number(0), out.integers({element_count(n.result().shape)})});
  const Name y = n.add("ScatterElements", {zeros, places_of_largest(n), in_a_row(n, 1)}, {{"reduction", "add"}});
  return {out.transposed(n.reshaped(y, sizes_of(n)), channels_last(n.rank()))};
}
// Operands: the input, what lies beside it.
Names beside_largest(const ExportedNode& n) {
  const Name y = n.add("GatherElements", {in_a_row(n, 1), places_of_largest(n)});
  return {n.out().transposed(n.reshaped(y, sizes_of(n)), channels_last(n.rank()))};
}

// Operands: the input, the result's gradient. A convolution again: pictures are summed over as channels, what was a
// channel is a picture, and stride and dilation change places.
Names gradient_of_kernels(const ExportedNode& n) {
  GraphExport& out = n.out();
  const int rank = n.rank();
  const Shape& x = n.input(0).shape;
  const std::int64_t groups = n.integer("groups");
  Shape apart(std::span(x.data(), x.size() - 1));
  apart.push_back(groups);
  apart.push_back(x.back() / groups);
  IntList channels_as_pictures{rank, rank - 1, 0};
  Shape together{x.back() / groups, groups * x[0]};
  IntList gradients{rank - 1, 0};
  for (std::int64_t i = 1; i < rank - 1; ++i) {
    channels_as_pictures.push_back(i);
    together.push_back(x[static_cast<std::size_t>(i)]);
    gradients.push_back(i);
  }
  const Name pictures = n.reshaped(out.transposed(n.reshaped(n.as_result(0), apart), channels_as_pictures), together);
  Name y = n.add(
      "Conv", {pictures, out.transposed(n.as_result(1), gradients)},
      {{"strides", n.list("dilation")}, {"dilations", n.list("stride")}, {"pads", pads_of(n)}, {"group", groups}});
  // Where a stride leaves a rest, more than the window comes out.
  const IntList window = n.list("window");
  for (std::size_t i = 0; i < window.size(); ++i) y = n.part(y, static_cast<std::int64_t>(i) + 2, 0, window[i]);
  IntList order;
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(0);
  order.push_back(1);
  return {out.transposed(y, order)};
}

Names resized(const ExportedNode& n, Attributes attributes) {
  const Name y = n.add("Resize", {image_of(n, 0), Name::none, Name::none, n.out().integers(sizes_of(n))}, attributes);
  return {n.out().transposed(y, channels_last(n.rank()))};
}
Names enlarged_to_nearest(const ExportedNode& n) {
  return resized(n, {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
}
Names enlarged_linearly(const ExportedNode& n) {
  return resized(n, {{"mode", "linear"}, {"coordinate_transformation_mode", "half_pixel"}});
}

// Each element came to lie in a block of its own.
Names gradient_of_nearest(const ExportedNode& n) {
  const Shape& x = n.result().shape;
  const IntList scale = n.list("window");
  Shape blocks{x[0]};
  IntList within;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    blocks.push_back(x[i + 1]);
    within.push_back(static_cast<std::int64_t>(blocks.size()));
    blocks.push_back(scale[i]);
  }
  blocks.push_back(x.back());
  return {n.add("ReduceSum", {n.reshaped(n.as_result(0), blocks), n.out().integers(within)},
                {{"keepdims", std::int64_t{0}}})};
}

// Along each axis a product with the transpose of what enlarges it: its columns are what becomes of unit vectors.
Names gradient_of_linear(const ExportedNode& n) {
  GraphExport& out = n.out();
  const IntList scale = n.list("window");
  Name y = n.as_result(0);
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const std::int64_t length = n.result().shape[i + 1];
    const Tensor<Eager> units = reshape(Tensor<Eager>::eye(length, -1, 0, DType::f64), {length, length, 1, 1});
    const Tensor<Eager> enlarged = upsample(units, {scale[i], 1}, Resampling::bilinear);
    const Tensor<Eager> matrix = reshape(enlarged, {length, length * scale[i]});
    IntList order;
    for (std::int64_t axis = 0; axis < n.rank(); ++axis) order.push_back(axis);
    std::swap(order[i + 1], order[order.size() - 1]);
    y = out.transposed(y, order);
    y = out.transposed(n.add("MatMul", {y, out.constant(transpose(matrix).astype(n.computed_in()))}), order);
  }
  return {y};
}

constexpr ExportRow window_export_table[] = {
    {"average_pool", mean_of_windows},
    {"average_pool_gradient", gradient_of_means, nullptr, Precision::single},
    {"convolution", convolved_image},
    {"convolution_input_gradient", transposed_convolution},
    {"convolution_kernel_gradient", gradient_of_kernels},
    {"max_pool", largest_of_windows},
    {"max_pool_gradient", gradient_of_largest, nullptr, Precision::single},
    {"max_pool_pick", beside_largest},
    {"upsample_bilinear", enlarged_linearly},
    {"upsample_bilinear_gradient", gradient_of_linear, nullptr, Precision::single},
    {"upsample_nearest", enlarged_to_nearest},
    {"upsample_nearest_gradient", gradient_of_nearest, nullptr, Precision::single},
};

}  // namespace

std::span<const ExportRow> window_exports() { return window_export_table; }

}  // namespace tyto::onnx
