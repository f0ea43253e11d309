// SPDX-License-Identifier: MIT
// Convolution layers: shapes of kernels, and forward.
#include "tyto/nn/convolution.hpp"

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// One length for each spatial axis.
Shape window_lengths(const char* layer, int spatial_axes, const PerAxis& window) {
  const Shape lengths = along_space(layer, "window", window, static_cast<std::size_t>(spatial_axes));
  for (const std::int64_t length : lengths) {
    if (length < 1) core::throw_error<ValueError>(layer, ": the window ", window, " must have lengths from 1 on");
  }
  return lengths;
}

void check_channels(const std::string& layer, std::int64_t in, std::int64_t out, std::int64_t groups) {
  check_sizes(layer.c_str(), in, out);
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    core::throw_error<ValueError>(layer, ": groups = ", groups, " must divide in = ", in, " and out = ", out);
  }
}

/// Checks the input of a layer called `layer` followed by "2d" or the like.
void check_image(const char* layer, const Tensor<Any>& x, int rank, std::int64_t channels) {
  if (x.ndim() != rank || x.shape().back() != channels) {
    const bool channels_first = x.ndim() == rank && x.shape()[1] == channels;
    core::throw_error<ShapeError>(layer, rank - 2, "d: x ", x.shape(), " must have ", rank, " axes, the last of ",
                                  channels, " channels",
                                  channels_first ? ", not axis 1 as in PyTorch; transpose it" : "");
  }
}

/// PyTorch's kernels are (a, b, window...) where ours are (window..., b, a).
IntList kernel_axes_in_pytorch(const Tensor<Any>& weight) {
  IntList axes;
  for (std::int64_t axis = 2; axis < weight.ndim(); ++axis) axes.push_back(axis);
  axes.push_back(1);
  axes.push_back(0);
  return axes;
}

}  // namespace

Convolution::Convolution(int spatial_axes, const ConvolutionLayerOptions& given)
    : options{.stride = given.stride, .padding = given.padding, .dilation = given.dilation, .groups = given.groups} {
  const std::string name = core::text("Conv", spatial_axes, "d");
  check_channels(name, given.in, given.out, given.groups);
  Shape shape = window_lengths(name.c_str(), spatial_axes, given.window);
  const auto window = static_cast<double>(element_count(shape));
  shape.push_back(given.in / given.groups);
  shape.push_back(given.out);
  const Fans fans{window * static_cast<double>(given.in / given.groups),
                  window * static_cast<double>(given.out / given.groups)};
  weight = weight_parameter("weight", given.initial, shape, fans, given.dtype);
  if (given.bias) bias = zero_parameter("bias", {given.out}, given.dtype);
}

Tensor<Any> Convolution::forward(const Tensor<Any>& x, Phase) const {
  const Shape& kernel = weight.shape();
  check_image("Conv", x, weight.ndim(), kernel[kernel.size() - 2] * options.groups);
  const Tensor<Any> result = convolution(to_multiply(x), to_multiply(weight), options);
  return !bias.defined() ? result : result + to_multiply(bias);
}

Members Convolution::members() const {
  return {{"weight", weight, StateKind::parameter, kernel_axes_in_pytorch(weight)}, {"bias", bias}};
}

TransposedConvolution::TransposedConvolution(int spatial_axes, const TransposedConvolutionLayerOptions& given)
    : options{.stride = given.stride,
              .padding = given.padding,
              .dilation = given.dilation,
              .output_padding = given.output_padding,
              .groups = given.groups} {
  const std::string name = core::text("ConvTranspose", spatial_axes, "d");
  check_channels(name, given.in, given.out, given.groups);
  Shape shape = window_lengths(name.c_str(), spatial_axes, given.window);
  const auto window = static_cast<double>(element_count(shape));
  shape.push_back(given.out / given.groups);
  shape.push_back(given.in);
  const Fans fans{window * static_cast<double>(given.in / given.groups),
                  window * static_cast<double>(given.out / given.groups)};
  weight = weight_parameter("weight", given.initial, shape, fans, given.dtype);
  if (given.bias) bias = zero_parameter("bias", {given.out}, given.dtype);
}

Tensor<Any> TransposedConvolution::forward(const Tensor<Any>& x, Phase) const {
  check_image("ConvTranspose", x, weight.ndim(), weight.shape().back());
  const Tensor<Any> result = transposed_convolution(to_multiply(x), to_multiply(weight), options);
  return !bias.defined() ? result : result + to_multiply(bias);
}

Members TransposedConvolution::members() const {
  return {{"weight", weight, StateKind::parameter, kernel_axes_in_pytorch(weight)}, {"bias", bias}};
}

DepthwiseConv2d::DepthwiseConv2d(const DepthwiseOptions& o)
    : Conv2d({.in = o.channels,
              .out = o.channels * o.multiplier,
              .window = o.window,
              .stride = o.stride,
              .padding = o.padding,
              .dilation = o.dilation,
              .groups = o.channels,
              .bias = o.bias,
              .initial = o.initial,
              .dtype = o.dtype}) {}

SeparableConv2d::SeparableConv2d(const ConvolutionLayerOptions& o)
    : depthwise({.channels = o.in,
                 .window = o.window,
                 .stride = o.stride,
                 .padding = o.padding,
                 .dilation = o.dilation,
                 .bias = false,
                 .initial = o.initial,
                 .dtype = o.dtype}),
      pointwise({.in = o.in,
                 .out = o.out,
                 .window = 1,
                 .groups = o.groups,
                 .bias = o.bias,
                 .initial = o.initial,
                 .dtype = o.dtype}) {}

Tensor<Any> SeparableConv2d::forward(const Tensor<Any>& x, Phase phase) const {
  return pointwise(depthwise(x, phase), phase);
}

Members SeparableConv2d::members() const { return {{"depthwise", depthwise}, {"pointwise", pointwise}}; }

}  // namespace nn
}  // namespace TYTO_API
