// SPDX-License-Identifier: MIT
// Layers that change the size of space without weights: pooling, up-sampling, padding.
#pragma once

#include <utility>

#include "tyto/nn/layer.hpp"
#include "tyto/shaping.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Largest element of each window.
struct TYTO_API MaxPool : Layer {
  PerAxis window;       ///< lengths of the window
  PoolOptions options;  ///< as given

  explicit MaxPool(PerAxis size, PoolOptions given = {}) : window(std::move(size)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};
/// Mean of each window.
struct TYTO_API AveragePool : Layer {
  PerAxis window;       ///< lengths of the window
  PoolOptions options;  ///< as given

  explicit AveragePool(PerAxis size, PoolOptions given = {}) : window(std::move(size)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// The p-th root of the sum of p-th powers of absolute values in each window.
struct TYTO_API PowerPool : Layer {
  double power;         ///< p of the norm
  PerAxis window;       ///< lengths of the window
  PoolOptions options;  ///< as given

  PowerPool(double p, PerAxis size, PoolOptions given = {});
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Mean over windows that share space out between `size` results along each axis; see adaptive_average_pool.
struct TYTO_API AdaptiveAveragePool : Layer {
  PerAxis size;  ///< lengths of the spatial axes of the result

  explicit AdaptiveAveragePool(PerAxis results) : size(std::move(results)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};
/// Largest element of each of these windows.
struct TYTO_API AdaptiveMaxPool : Layer {
  PerAxis size;  ///< lengths of the spatial axes of the result

  explicit AdaptiveMaxPool(PerAxis results) : size(std::move(results)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Mean over all of space: (batch, spatial..., channels) to (batch, channels).
struct TYTO_API GlobalAveragePool : Layer {
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};
/// Largest element of all of space.
struct TYTO_API GlobalMaxPool : Layer {
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Space made `scale` times larger; see upsample.
struct TYTO_API Upsample : Layer {
  PerAxis scale;   ///< how much longer the spatial axes become
  Resampling how;  ///< nearest or bilinear

  explicit Upsample(PerAxis factors, Resampling resampling = Resampling::nearest)
      : scale(std::move(factors)), how(resampling) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Options of Pad.
struct PadOptions {
  PaddingMode mode = PaddingMode::constant;  ///< values of the border
  double value = 0;                          ///< of a constant border
};
/// Elements added before and after each spatial axis: zeros, another number, the edge, or a reflection.
///
///     nn::Pad zeros(1), mirrored(2, {.mode = PaddingMode::reflect}), uneven(Padding({1, 0}, {2, 1}));
struct TYTO_API Pad : Layer {
  Padding border;      ///< widths before and after each spatial axis
  PadOptions options;  ///< as given

  /// The same count on all sides, or `Padding(before, after)`.
  explicit Pad(Padding counts, PadOptions given = {}) : border(std::move(counts)), options(given) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Channels into space: (batch, h, w, c r^2) to (batch, h r, w r, c). Channel c r^2 + i r + j goes to row i, column j.
struct TYTO_API PixelShuffle : Layer {
  std::int64_t factor;  ///< how much longer the spatial axes become

  explicit PixelShuffle(std::int64_t r);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};
/// Space into channels, what PixelShuffle undoes.
struct TYTO_API PixelUnshuffle : Layer {
  std::int64_t factor;  ///< how much longer the spatial axes become

  explicit PixelUnshuffle(std::int64_t r);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

}  // namespace TYTO_API
}  // namespace tyto
