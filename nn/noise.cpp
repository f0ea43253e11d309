// SPDX-License-Identifier: MIT
// Dropout and other noise layers.
#include "tyto/nn/noise.hpp"

#include <cmath>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

double checked_rate(const char* layer, double rate) {
  if (!(rate >= 0 && rate < 1)) core::throw_error<ValueError>(layer, ": the rate ", rate, " must be in [0, 1)");
  return rate;
}

// The result of SELU far on the negative side: -scale * alpha.
constexpr double selu_floor = -1.7580993408473766;

}  // namespace

Dropout::Dropout(double probability) : rate(checked_rate("Dropout", probability)) {}

Tensor<Any> Dropout::forward(const Tensor<Any>& x, Phase phase) const {
  return rate > 0 && is_training("Dropout", phase) ? x * dropout_mask(x, rate) : x;
}

ChannelDropout::ChannelDropout(double probability) : rate(checked_rate("ChannelDropout", probability)) {}

Tensor<Any> ChannelDropout::forward(const Tensor<Any>& x, Phase phase) const {
  if (x.ndim() < 3)
    core::throw_error<ShapeError>("ChannelDropout: x ", x.shape(), " must be (batch, spatial..., channels)");
  if (rate == 0 || !is_training("ChannelDropout", phase)) return x;
  Shape shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[0] = x.shape()[0];
  shape[shape.size() - 1] = x.shape().back();
  return x * dropout_mask(Tensor<Any>::zeros(shape, x.dtype()), rate);
}

AlphaDropout::AlphaDropout(double probability) : rate(checked_rate("AlphaDropout", probability)) {}

Tensor<Any> AlphaDropout::forward(const Tensor<Any>& x, Phase phase) const {
  if (rate == 0 || !is_training("AlphaDropout", phase)) return x;
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * selu_floor * selu_floor));
  const Tensor<Any> kept = greater(dropout_mask(x, rate), 0);
  const auto stretched = [&](const Tensor<Any>& y) {
    return where(kept, y, selu_floor) * scale - scale * rate * selu_floor;
  };
  if (const auto found = core::in_f32(stretched, x)) return *found;
  return stretched(x);
}

GaussianNoise::GaussianNoise(double deviation) : stddev(deviation) {
  if (!(deviation >= 0 && std::isfinite(deviation))) {
    core::throw_error<ValueError>("GaussianNoise: the deviation ", deviation, " must be finite and at least 0");
  }
}

Tensor<Any> GaussianNoise::forward(const Tensor<Any>& x, Phase phase) const {
  if (stddev == 0 || !is_training("GaussianNoise", phase)) return x;
  return x + Tensor<Any>::normal(x.shape(), {.stddev = stddev, .dtype = x.dtype()});
}

GaussianDropout::GaussianDropout(double probability) : rate(checked_rate("GaussianDropout", probability)) {}

Tensor<Any> GaussianDropout::forward(const Tensor<Any>& x, Phase phase) const {
  if (rate == 0 || !is_training("GaussianDropout", phase)) return x;
  const double stddev = std::sqrt(rate / (1 - rate));
  return x * Tensor<Any>::normal(x.shape(), {.mean = 1, .stddev = stddev, .dtype = x.dtype()});
}

}  // namespace nn
}  // namespace TYTO_API
