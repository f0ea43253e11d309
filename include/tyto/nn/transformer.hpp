// SPDX-License-Identifier: MIT
// Blocks of transformers: self-attention and a small network for each place, each round a shortcut with a norm.
#pragma once

#include "tyto/nn/attention.hpp"
#include "tyto/nn/noise.hpp"
#include "tyto/nn/normalisation.hpp"

namespace tyto {
namespace nn TYTO_API {

/// The activation between the two linear layers of a block.
enum class BlockActivation : std::uint8_t { relu, gelu };

/// Options of `TransformerEncoderLayer`.
struct TransformerOptions {
  std::int64_t features = 0;                           ///< length of the last axis
  std::int64_t heads = 1;                              ///< parts of the features that attend by themselves
  std::int64_t hidden = 2048;                          ///< features between the two linear layers
  double dropout = 0.1;                                ///< probability of being dropped
  BlockActivation activation = BlockActivation::relu;  ///< between the two linear layers
  double epsilon = 1e-5;                               ///< of the norms
  bool norm_first = false;                             ///< each norm before its part instead of after the sum
  bool bias = true;                                    ///< whether a bias is added
  Initialiser initial = glorot_uniform;                ///< how weights are drawn
  DType dtype = DType::f32;                            ///< element type
};

/// Self-attention, then two linear layers, over (batch, length, features) (Vaswani et al. 2017).
struct TYTO_API TransformerEncoderLayer : Layer {
  TransformerOptions options;    ///< as given
  MultiheadAttention self_attn;  ///< attention of a sequence to itself
  Linear linear1, linear2;       ///< the feed-forward part
  LayerNorm norm1, norm2;        ///< after, or before, each part
  Dropout dropout;               ///< probability of being dropped

  explicit TransformerEncoderLayer(const TransformerOptions& given);  // {.features = 64, .heads = 4}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

  using Layer::operator();
  /// With masks for the self-attention.
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, const std::type_identity_t<AttentionOptions<M>>& masks,
                       Phase phase = detail::phase_around()) const {
    return detail::with_mode<M>(encode(detail::modeless(x), tyto::detail::in_any_mode(masks), phase));
  }

  /// The output of the causal block at one more place; see MultiheadAttention::next, whose cache it is.
  template <class M>
  Tensor<M> next(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& position,
                 const AttentionCache& cache) const {
    return detail::with_mode<M>(read_on(detail::modeless(x), detail::modeless(position), cache));
  }

 private:
  Tensor<Any> read_on(const Tensor<Any>& x, const Tensor<Any>& position, const AttentionCache& cache) const;
  Tensor<Any> encode(const Tensor<Any>& x, const AttentionOptions<Any>& masks, Phase phase) const;
};

/// Self-attention, attention to a memory, then two linear layers.
struct TYTO_API TransformerDecoderLayer : Module {
  TransformerOptions options;                    ///< as given
  MultiheadAttention self_attn, multihead_attn;  ///< attention to itself, and to the memory
  Linear linear1, linear2;                       ///< the feed-forward part
  LayerNorm norm1, norm2, norm3;                 ///< after, or before, each part
  Dropout dropout;                               ///< probability of being dropped

  explicit TransformerDecoderLayer(const TransformerOptions& given);
  Members members() const override;

  /// `masks` are for the self-attention, `memory_masks` for the other one.
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& memory,
                       const std::type_identity_t<AttentionOptions<M>>& masks = {},
                       const std::type_identity_t<AttentionOptions<M>>& memory_masks = {},
                       Phase phase = detail::phase_around()) const {
    return detail::with_mode<M>(decode(detail::modeless(x), detail::modeless(memory), tyto::detail::in_any_mode(masks),
                                       tyto::detail::in_any_mode(memory_masks), phase));
  }

 private:
  Tensor<Any> decode(const Tensor<Any>& x, const Tensor<Any>& memory, const AttentionOptions<Any>& masks,
                     const AttentionOptions<Any>& memory_masks, Phase phase) const;
};

}  // namespace TYTO_API
}  // namespace tyto
