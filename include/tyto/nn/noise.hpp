// SPDX-License-Identifier: MIT
// Dropout of elements and channels, and Gaussian noise: layers that change their input in training only.
#pragma once

#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// In training each element is 0 with probability `rate` and scaled up otherwise, drawn anew each time.
struct TYTO_API Dropout : Layer {
  double rate;  ///< probability of being dropped

  explicit Dropout(double probability);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Dropout of whole channels of x (batch, spatial..., channels): PyTorch's Dropout1d, 2d and 3d.
struct TYTO_API ChannelDropout : Layer {
  double rate;  ///< probability of being dropped

  explicit ChannelDropout(double probability);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Dropout that keeps mean and variance of what went through SELU (Klambauer et al. 2017).
struct TYTO_API AlphaDropout : Layer {
  double rate;  ///< probability of being dropped

  explicit AlphaDropout(double probability);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// In training normal noise of this standard deviation is added.
struct TYTO_API GaussianNoise : Layer {
  double stddev;  ///< of what is added

  explicit GaussianNoise(double deviation);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// In training each element is multiplied by a normal number of mean 1 and variance rate / (1 - rate).
struct TYTO_API GaussianDropout : Layer {
  double rate;  ///< probability of being dropped

  explicit GaussianDropout(double probability);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

}  // namespace TYTO_API
}  // namespace tyto
