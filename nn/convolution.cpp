// SPDX-License-Identifier: MIT
// Convolution layers: shapes of kernels, and forward.
#include "tyto/nn/convolution.hpp"

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// Makes the parameters of a layer called `name`, whose weight ends in axes of `divided` / groups and `whole` channels.
template <class Layer, class Options>
void set_parameters(Layer& layer, const std::string& name, int spatial_axes, const Options& given, std::int64_t divided,
                    std::int64_t whole) {
  check_sizes(name.c_str(), given.in, given.out);
  const std::int64_t groups = given.groups;
  if (groups < 1 || given.in % groups != 0 || given.out % groups != 0) {
    core::throw_error<ValueError>(name, ": groups = ", groups, " must divide in = ", given.in,
                                  " and out = ", given.out);
  }
  Shape shape = along_space(name.c_str(), "window", given.window, static_cast<std::size_t>(spatial_axes));
  for (const std::int64_t length : shape) {
    if (length < 1) core::throw_error<ValueError>(name, ": the window ", given.window, " must have lengths from 1 on");
  }
  const auto window = static_cast<double>(element_count(shape));
  const Fans fans{window * static_cast<double>(given.in / groups), window * static_cast<double>(given.out / groups)};
  shape.push_back(divided / groups);
  shape.push_back(whole);
  layer.weight = weight_parameter("weight", given.initial, shape, fans, given.dtype);
  if (given.bias) layer.bias = zero_parameter("bias", {given.out}, given.dtype);
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
Members members_of(const Tensor<Any>& weight, const Tensor<Any>& bias) {
  IntList axes;
  for (std::int64_t axis = 2; axis < weight.ndim(); ++axis) axes.push_back(axis);
  axes.push_back(1);
  axes.push_back(0);
  return {{"weight", weight, StateKind::parameter, axes}, {"bias", bias}};
}

}  // namespace

Convolution::Convolution(int spatial_axes, const ConvolutionLayerOptions& given)
    : options{.stride = given.stride, .padding = given.padding, .dilation = given.dilation, .groups = given.groups} {
  set_parameters(*this, core::text("Conv", spatial_axes, "d"), spatial_axes, given, given.in, given.out);
}

Tensor<Any> Convolution::forward(const Tensor<Any>& x, Phase) const {
  const Shape& kernel = weight.shape();
  check_image("Conv", x, weight.ndim(), kernel[kernel.size() - 2] * options.groups);
  const Tensor<Any> result = convolution(to_multiply(x), to_multiply(weight), options);
  return !bias.defined() ? result : result + to_multiply(bias);
}

Members Convolution::members() const { return members_of(weight, bias); }

TransposedConvolution::TransposedConvolution(int spatial_axes, const TransposedConvolutionLayerOptions& given)
    : options{.stride = given.stride,
              .padding = given.padding,
              .dilation = given.dilation,
              .output_padding = given.output_padding,
              .groups = given.groups} {
  set_parameters(*this, core::text("ConvTranspose", spatial_axes, "d"), spatial_axes, given, given.out, given.in);
}

Tensor<Any> TransposedConvolution::forward(const Tensor<Any>& x, Phase) const {
  check_image("ConvTranspose", x, weight.ndim(), weight.shape().back());
  const Tensor<Any> result = transposed_convolution(to_multiply(x), to_multiply(weight), options);
  return !bias.defined() ? result : result + to_multiply(bias);
}

Members TransposedConvolution::members() const { return members_of(weight, bias); }

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
