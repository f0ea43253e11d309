// SPDX-License-Identifier: MIT
// Convolution layers: plain, transposed, depthwise and separable, over 1 to 3 spatial axes.
#pragma once

#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Paddings under this name as well: nn::same.
using tyto::same, tyto::valid;

/// Options of `Convolution`.
struct ConvolutionLayerOptions {
  std::int64_t in = 0;                   ///< channels
  std::int64_t out = 0;                  ///< channels
  PerAxis window = 3;                    ///< lengths of the window
  PerAxis stride = 1;                    ///< steps between windows along each spatial axis
  Padding padding = valid;               ///< zeros around the spatial axes
  PerAxis dilation = 1;                  ///< steps between the elements of a window
  std::int64_t groups = 1;               ///< parts of the channels that do not mix
  bool bias = true;                      ///< whether a bias is added
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// Convolution of x (batch, spatial..., in) with as many spatial axes as the derived layer names.
struct TYTO_API Convolution : Layer {
  Tensor<Any> weight;          ///< (window..., in / groups, out)
  Tensor<Any> bias;            ///< (out,), or an undefined tensor
  ConvolutionOptions options;  ///< layout stays channels last

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  Convolution(int spatial_axes, const ConvolutionLayerOptions& options);
};
/// Convolution over one spatial axis.
struct Conv1d : Convolution {
  explicit Conv1d(const ConvolutionLayerOptions& given) : Convolution(1, given) {}  // {.in = 3, .out = 8, .window = 3}
};
/// Convolution over two spatial axes.
struct Conv2d : Convolution {
  explicit Conv2d(const ConvolutionLayerOptions& given) : Convolution(2, given) {}  // {.in = 3, .out = 8, .window = 3}
};
/// Convolution over three spatial axes.
struct Conv3d : Convolution {
  explicit Conv3d(const ConvolutionLayerOptions& given) : Convolution(3, given) {}  // {.in = 3, .out = 8, .window = 3}
};

/// Options of `TransposedConvolution`.
struct TransposedConvolutionLayerOptions {
  std::int64_t in = 0;                   ///< channels
  std::int64_t out = 0;                  ///< channels
  PerAxis window = 3;                    ///< lengths of the window
  PerAxis stride = 1;                    ///< steps between windows along each spatial axis
  Padding padding = valid;               ///< zeros around the spatial axes
  PerAxis dilation = 1;                  ///< steps between the elements of a window
  PerAxis output_padding = 0;            ///< added to the end of the spatial axes of the result
  std::int64_t groups = 1;               ///< parts of the channels that do not mix
  bool bias = true;                      ///< whether a bias is added
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// The transpose of a convolution: makes space larger where a convolution makes it smaller.
struct TYTO_API TransposedConvolution : Layer {
  Tensor<Any> weight;                    ///< (window..., out / groups, in)
  Tensor<Any> bias;                      ///< (out,), or an undefined tensor
  TransposedConvolutionOptions options;  ///< as given

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  TransposedConvolution(int spatial_axes, const TransposedConvolutionLayerOptions& options);
};
/// Transposed convolution over one spatial axis.
struct ConvTranspose1d : TransposedConvolution {
  explicit ConvTranspose1d(const TransposedConvolutionLayerOptions& given) : TransposedConvolution(1, given) {}
};
/// Transposed convolution over two spatial axes.
struct ConvTranspose2d : TransposedConvolution {
  explicit ConvTranspose2d(const TransposedConvolutionLayerOptions& given) : TransposedConvolution(2, given) {}
};
/// Transposed convolution over three spatial axes.
struct ConvTranspose3d : TransposedConvolution {
  explicit ConvTranspose3d(const TransposedConvolutionLayerOptions& given) : TransposedConvolution(3, given) {}
};

/// Options of `DepthwiseConv2d`.
struct DepthwiseOptions {
  std::int64_t channels = 0;             ///< length of the last axis
  std::int64_t multiplier = 1;           ///< results of each channel
  PerAxis window = 3;                    ///< lengths of the window
  PerAxis stride = 1;                    ///< steps between windows along each spatial axis
  Padding padding = valid;               ///< zeros around the spatial axes
  PerAxis dilation = 1;                  ///< steps between the elements of a window
  bool bias = true;                      ///< whether a bias is added
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// Convolution of each channel on its own, over two spatial axes.
struct TYTO_API DepthwiseConv2d : Conv2d {
  explicit DepthwiseConv2d(const DepthwiseOptions& options);
};

/// A depthwise convolution, then one of window 1 that mixes the channels; the options are those of one convolution.
struct TYTO_API SeparableConv2d : Layer {
  DepthwiseConv2d depthwise;  ///< each channel by itself
  Conv2d pointwise;           ///< mixes the channels

  explicit SeparableConv2d(const ConvolutionLayerOptions& options);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

}  // namespace TYTO_API
}  // namespace tyto
