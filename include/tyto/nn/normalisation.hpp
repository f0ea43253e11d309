// SPDX-License-Identifier: MIT
// Normalisation layers: batch, layer, group, instance and RMS norm.
#pragma once

#include <optional>

#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `BatchNorm`.
struct BatchNormOptions {
  std::int64_t channels = 0;             ///< length of the last axis
  double epsilon = 1e-5;                 ///< added to the variance
  std::optional<double> momentum = 0.1;  ///< the share of a batch in the running statistics; none: all batches alike
  bool affine = true;                    ///< with a trained weight and bias for each channel
  bool bias = true;                      ///< whether there is one besides the weight
  bool track = true;         ///< keeps running statistics; without them a batch's own serve inference as well
  DType dtype = DType::f32;  ///< element type
  /// In training, statistics of the batch's parts on all processes (distributed.hpp), which have as many samples each,
  /// else GraphError.
  bool sync = false;
};
/// In training x (batch, spatial..., channels) is normalised by the mean and variance of its batch and space, which
/// enter the running ones; in inference by the running ones (Ioffe, Szegedy 2015). A graph that is recorded from a
/// placeholder without a value leaves the running ones as they are: compile() the step that trains.
struct TYTO_API BatchNorm : Layer {
  BatchNormOptions options;               ///< as given
  Tensor<Any> weight, bias;               ///< (channels,), or undefined tensors
  Tensor<Any> running_mean, running_var;  ///< buffers (channels,), or undefined tensors
  Tensor<Any> num_batches_tracked;        ///< a buffer: how many batches entered the running statistics

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  BatchNorm(int spatial_axes, const BatchNormOptions& options);

 private:
  template <class Unbiased>
  void track(const Tensor<Any>& mean, const Tensor<Any>& variance, const Unbiased& unbiased) const;

  int spatial_axes_;
};
/// Batch normalisation of x (batch, channels) or (batch, length, channels).
struct BatchNorm1d : BatchNorm {
  explicit BatchNorm1d(const BatchNormOptions& given) : BatchNorm(1, given) {}  // BatchNorm1d({.channels = 8})
};
/// Batch normalisation of x (batch, height, width, channels).
struct BatchNorm2d : BatchNorm {
  explicit BatchNorm2d(const BatchNormOptions& given) : BatchNorm(2, given) {}  // BatchNorm2d({.channels = 8})
};
/// Batch normalisation of x (batch, depth, height, width, channels).
struct BatchNorm3d : BatchNorm {
  explicit BatchNorm3d(const BatchNormOptions& given) : BatchNorm(3, given) {}  // BatchNorm3d({.channels = 8})
};

/// Options of `InstanceNorm`.
struct InstanceNormOptions {
  std::int64_t channels = 0;  ///< length of the last axis
  double epsilon = 1e-5;      ///< added to what is divided by, against zero
  double momentum = 0.1;      ///< weight of a batch in the running means
  bool affine = false;        ///< whether a trained scale and shift follow
  bool bias = true;           ///< whether there is one besides the weight
  bool track = false;         ///< keeps running statistics, which serve inference
  DType dtype = DType::f32;   ///< element type
};
/// Each channel of each sample of x (batch, spatial..., channels) normalised over its space.
struct TYTO_API InstanceNorm : Layer {
  InstanceNormOptions options;            ///< as given
  Tensor<Any> weight, bias;               ///< (channels,), or undefined tensors
  Tensor<Any> running_mean, running_var;  ///< buffers (channels,), or undefined tensors
  Tensor<Any> num_batches_tracked;        ///< a buffer that stays 0, since PyTorch's files have it

  explicit InstanceNorm(const InstanceNormOptions& given);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

/// Options of `GroupNorm`.
struct GroupNormOptions {
  std::int64_t channels = 0;  ///< length of the last axis
  std::int64_t groups = 1;    ///< parts of the channels that do not mix
  double epsilon = 1e-5;      ///< added to what is divided by, against zero
  bool affine = true;         ///< whether a trained scale and shift follow
  bool bias = true;           ///< whether there is one besides the weight
  DType dtype = DType::f32;   ///< element type
};
/// Groups of channels of each sample normalised over themselves and space (Wu, He 2018).
struct TYTO_API GroupNorm : Layer {
  GroupNormOptions options;  ///< as given
  Tensor<Any> weight, bias;  ///< (channels,), or undefined tensors

  explicit GroupNorm(const GroupNormOptions& given);  // GroupNorm({.channels = 8, .groups = 4})
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

/// Options of `LayerNorm`.
struct LayerNormOptions {
  Shape shape;               ///< of the last axes, over which each sample is normalised
  double epsilon = 1e-5;     ///< added to what is divided by, against zero
  bool affine = true;        ///< whether a trained scale and shift follow
  bool bias = true;          ///< whether there is one besides the weight
  DType dtype = DType::f32;  ///< element type
};
/// The last axes normalised over themselves (Ba, Kiros, Hinton 2016): nn::LayerNorm({.shape = {64}}).
struct TYTO_API LayerNorm : Layer {
  LayerNormOptions options;  ///< as given
  Tensor<Any> weight, bias;  ///< of these axes, or undefined tensors

  explicit LayerNorm(const LayerNormOptions& given);  // LayerNorm({.shape = {32}})
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

/// Options of `LocalResponseNorm`.
struct LocalResponseNormOptions {
  std::int64_t size = 0;  ///< of neighbouring channels that are summed over, its own in the middle
  double alpha = 1e-4;    ///< weight of the mean of squares
  double beta = 0.75;     ///< power of what is divided by
  double k = 1;           ///< added to the weighted mean of squares
};
/// Divided by (k + alpha * the mean of squares of neighbouring channels)^beta (Krizhevsky et al. 2012); channels last.
struct TYTO_API LocalResponseNorm : Layer {
  LocalResponseNormOptions options;  ///< as given

  explicit LocalResponseNorm(const LocalResponseNormOptions& given);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Options of `RMSNorm`.
struct RMSNormOptions {
  Shape shape;                         ///< of the last axes
  std::optional<double> epsilon = {};  ///< added to the mean of squares; none: the spacing of the type's numbers at 1
  bool affine = true;                  ///< whether a trained scale and shift follow
  DType dtype = DType::f32;            ///< element type
};
/// The last axes divided by the root of the mean of their squares (Zhang, Sennrich 2019).
struct TYTO_API RMSNorm : Layer {
  RMSNormOptions options;  ///< as given
  Tensor<Any> weight;      ///< of these axes, or an undefined tensor

  explicit RMSNorm(const RMSNormOptions& given);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

}  // namespace TYTO_API
}  // namespace tyto
