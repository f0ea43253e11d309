// SPDX-License-Identifier: MIT
// Layers whose weight is computed from other states in each call: weight norm and spectral norm.
#pragma once

#include <utility>

#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {

struct SpectralVectors {
  Tensor<Any> left, right;
};

/// A weight as PyTorch lays it out, whose first axis its norms keep apart.
class TYTO_API NormedWeight {
 public:
  /// Takes over the state "weight" of a layer; throws ValueError when it has none.
  explicit NormedWeight(const Members& members);

  /// The lengths of its slices along PyTorch's first axis, that axis kept among axes of length one.
  Tensor<Any> lengths(const Tensor<Any>& weight) const;
  /// PyTorch's matrix of it, a row a slice.
  Tensor<Any> matrix(const Tensor<Any>& weight) const;
  /// A direction brought to a length for each slice.
  Tensor<Any> of_length(const Tensor<Any>& direction, const Tensor<Any>& length) const;
  /// A weight over the largest singular value of its matrix, by its singular vectors.
  Tensor<Any> over_largest(const Tensor<Any>& weight, const SpectralVectors& vectors) const;
  const Tensor<Any>& weight() const { return weight_; }
  const IntList& pytorch_axes() const { return pytorch_axes_; }

 private:
  Tensor<Any> weight_;
  IntList pytorch_axes_;
  std::int64_t kept_ = 0;  // which of its axes is PyTorch's first
};

/// Members with the weight's place taken by others.
TYTO_API Members with_weight(const Members& members, const Members& others);

/// The vectors after so many more power iterations.
TYTO_API SpectralVectors iterated(const Tensor<Any>& matrix, SpectralVectors vectors, std::int64_t iterations);
TYTO_API SpectralVectors drawn_vectors(const Tensor<Any>& matrix);

}  // namespace detail

/// A layer whose weight is a direction times a length for each output, both trained (Salimans, Kingma 2016). States are
/// named as PyTorch's parametrizations.weight_norm names them.
///
///     nn::WeightNorm layer(nn::Linear({.in = 8, .out = 4}));
template <class L>
struct WeightNorm : Layer {
  L layer;  ///< its own weight is not used

 private:
  detail::NormedWeight weight_{layer.members()};  // what follows is made of it

 public:
  Tensor<Any> length;     ///< one for each output
  Tensor<Any> direction;  ///< in the shape of the weight

  explicit WeightNorm(L given)
      : layer(std::move(given)),
        length(Tensor<Any>::variable(weight_.lengths(weight_.weight()), "length")),
        direction(weight_.weight()) {}

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override {
    L own = layer;
    own.weight = weight_.of_length(direction, length);
    return own.forward(x, phase);
  }
  Members members() const override {
    return detail::with_weight(
        layer.members(),
        {{"parametrizations.weight.original0", length, StateKind::parameter, weight_.pytorch_axes()},
         {"parametrizations.weight.original1", direction, StateKind::parameter, weight_.pytorch_axes()}});
  }
};

/// A layer whose weight is divided by its largest singular value (Miyato et al. 2018), which power iterations follow:
/// so many in each call in training. States are named as PyTorch's parametrizations.spectral_norm names them.
template <class L>
struct SpectralNorm : Layer {
  L layer;  ///< its own weight is not used

 private:
  detail::NormedWeight weight_{layer.members()};  // what follows is made of it

 public:
  Tensor<Any> original;     ///< in the shape of the weight
  Tensor<Any> left, right;  ///< buffers: the singular vectors of PyTorch's matrix of it
  std::int64_t iterations;  ///< of the power method at each call in training

  explicit SpectralNorm(L given, std::int64_t per_call = 1)
      : layer(std::move(given)), original(weight_.weight()), iterations(per_call) {
    const detail::SpectralVectors found = detail::drawn_vectors(weight_.matrix(original));
    left = Tensor<Any>::persistent(found.left, "left");
    right = Tensor<Any>::persistent(found.right, "right");
  }

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override {
    const Tensor<Any> matrix = weight_.matrix(original);
    detail::SpectralVectors vectors{left, right};
    if (is_training("SpectralNorm", phase)) {
      vectors = detail::iterated(matrix, vectors, iterations);
      assign(left, vectors.left);
      assign(right, vectors.right);
    }
    L own = layer;
    own.weight = weight_.over_largest(original, vectors);
    return own.forward(x, phase);
  }
  Members members() const override {
    return detail::with_weight(
        layer.members(), {{"parametrizations.weight.original", original, StateKind::parameter, weight_.pytorch_axes()},
                          {"parametrizations.weight.0._u", left, StateKind::buffer},
                          {"parametrizations.weight.0._v", right, StateKind::buffer}});
  }
};

}  // namespace TYTO_API
}  // namespace tyto
