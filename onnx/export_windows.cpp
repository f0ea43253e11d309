// Convolutions, pools and resizing in ONNX's words, channels first, as ONNX has them, between transposes that meet
// those of their neighbours.
#include "onnx/export.hpp"

namespace tyto::onnx {

namespace {

using Names = std::vector<std::string>;

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
std::string kernels_of(const ExportedNode& n) {
  const int rank = n.rank();
  IntList order{rank - 1, rank - 2};
  for (std::int64_t i = 0; i < rank - 2; ++i) order.push_back(i);
  return n.out().transposed(n[1], order);
}

Names convolved_image(const ExportedNode& n) {
  const int rank = n.rank();
  GraphExport& out = n.out();
  const std::string y = n.add("Conv", {out.transposed(n[0], channels_first(rank)), kernels_of(n)},
                              {{"strides", n.list("stride")},
                               {"dilations", n.list("dilation")},
                               {"pads", pads_of(n)},
                               {"group", n.integer("groups")}});
  return {out.transposed(y, channels_last(rank))};
}

Names pooled(const ExportedNode& n, std::string_view op, std::vector<Written> attributes) {
  const int rank = n.rank();
  attributes.insert(attributes.end(), {{"kernel_shape", n.list("window")},
                                       {"strides", n.list("stride")},
                                       {"dilations", n.list("dilation")},
                                       {"pads", pads_of(n)}});
  const std::string y = n.add(op, {n.out().transposed(n.as_result(0), channels_first(rank))}, attributes);
  return {n.out().transposed(y, channels_last(rank))};
}
Names largest_of_windows(const ExportedNode& n) { return pooled(n, "MaxPool", {}); }
Names mean_of_windows(const ExportedNode& n) {
  return pooled(n, "AveragePool", {{"count_include_pad", n.integer("count_padding")}});
}

/// A result's shape channels first.
Shape sizes_of(const ExportedNode& n) {
  Shape sizes{n.result().shape[0], n.result().shape.back()};
  for (std::size_t i = 1; i + 1 < n.result().shape.size(); ++i) sizes.push_back(n.result().shape[i]);
  return sizes;
}

// Operands: the result's gradient, kernels.
Names transposed_convolution(const ExportedNode& n) {
  const int rank = n.rank();
  const IntList window = n.list("window"), stride = n.list("stride"), dilation = n.list("dilation"),
                before = n.list("before"), after = n.list("after");
  IntList beyond;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t reached =
        stride[i] * (n.input(0).shape[i + 1] - 1) + (window[i] - 1) * dilation[i] + 1 - before[i] - after[i];
    beyond.push_back(n.result().shape[i + 1] - reached);
  }
  GraphExport& out = n.out();
  const std::string y = n.add("ConvTranspose", {out.transposed(n[0], channels_first(rank)), kernels_of(n)},
                              {{"strides", stride},
                               {"dilations", dilation},
                               {"pads", pads_of(n)},
                               {"output_padding", beyond},
                               {"group", n.integer("groups")}});
  return {out.transposed(y, channels_last(rank))};
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
  const std::string pictures = n.reshaped(out.transposed(n.reshaped(n[0], apart), channels_as_pictures), together);
  std::string y = n.add(
      "Conv", {pictures, out.transposed(n[1], gradients)},
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

Names resized(const ExportedNode& n, const std::vector<Written>& attributes) {
  const std::string x = n.out().transposed(n.as_result(0), channels_first(n.rank()));
  const std::string y = n.add("Resize", {x, "", "", n.out().integers(sizes_of(n))}, attributes);
  return {n.out().transposed(y, channels_last(n.rank()))};
}
Names enlarged_to_nearest(const ExportedNode& n) {
  return resized(n, {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
}
Names enlarged_linearly(const ExportedNode& n) {
  return resized(n, {{"mode", "linear"}, {"coordinate_transformation_mode", "half_pixel"}});
}

const ExportRow window_export_table[] = {
    {"average_pool", mean_of_windows},
    {"convolution", convolved_image},
    {"convolution_input_gradient", transposed_convolution},
    {"convolution_kernel_gradient", gradient_of_kernels},
    {"max_pool", largest_of_windows},
    {"upsample_bilinear", enlarged_linearly},
    {"upsample_nearest", enlarged_to_nearest},
};

}  // namespace

std::span<const ExportRow> window_exports() { return window_export_table; }

}  // namespace tyto::onnx
