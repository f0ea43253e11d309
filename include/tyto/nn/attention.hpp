// SPDX-License-Identifier: MIT
// Multi-head attention as a layer.
#pragma once

#include "tyto/attention.hpp"
#include "tyto/nn/linear.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `MultiheadAttention`.
struct MultiheadAttentionOptions {
  std::int64_t features = 0;             ///< of queries and results; the heads share them
  std::int64_t heads = 1;                ///< parts of the features that attend by themselves
  std::int64_t key_features = 0;         ///< 0: as many as queries have
  std::int64_t value_features = 0;       ///< 0: as many as queries have
  double dropout = 0;                    ///< of the weights, in training
  bool bias = true;                      ///< whether a bias is added
  bool extra_key = false;                ///< one more key and value, learnt, at which every query may look
  bool zero_key = false;                 ///< one more key and value of zeros, at which every query may look
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// Keys and values of the places that were read so far, (batch, heads, length, features / heads) each. They are states,
/// so a sequence is read on place by place by one compiled function, whatever its length.
struct AttentionCache {
  Tensor<Any> keys, values;  ///< (batch, heads, length, features / heads)
};

/// Attention of several heads over projections of queries, keys and values (batch, length, features). Masks are those
/// of scaled_dot_product_attention: true where a query may look, PyTorch's masks of this layer negated.
///
///     nn::MultiheadAttention attention({.features = 64, .heads = 4});
///     auto y = attention(x, {.causal = true});            // of x to itself
///     auto z = attention(x, memory, memory, {.key_mask = is_word}, nn::training);
struct TYTO_API MultiheadAttention : Layer {
  MultiheadAttentionOptions options;  ///< as given
  Tensor<Any> in_proj_weight;         ///< (features, 3 features): queries, keys, values; or an undefined tensor
  Tensor<Any> q_proj_weight, k_proj_weight, v_proj_weight;  ///< where keys or values have other features
  Tensor<Any> in_proj_bias;                                 ///< (3 features,), or an undefined tensor
  Tensor<Any> bias_k, bias_v;                               ///< (1, 1, features), the extra key and value
  Linear out_proj;                                          ///< what the heads' results go through

  explicit MultiheadAttention(const MultiheadAttentionOptions& given);  // {.features = 64, .heads = 4}
  /// Attention of x to itself, without masks.
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

  using Layer::operator();
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, const std::type_identity_t<AttentionOptions<M>>& masks,
                       Phase phase = detail::phase_around()) const {
    return (*this)(x, x, x, masks, phase);
  }
  template <class M>
  Tensor<M> operator()(const Tensor<M>& query, const std::type_identity_t<Tensor<M>>& key,
                       const std::type_identity_t<Tensor<M>>& value,
                       const std::type_identity_t<AttentionOptions<M>>& masks = {},
                       Phase phase = detail::phase_around()) const {
    return detail::with_mode<M>(attend(detail::modeless(query), detail::modeless(key), detail::modeless(value),
                                       tyto::detail::in_any_mode(masks), phase));
  }

  /// The attention weights of each head: (batch, heads, queries, keys), rows that add up to 1; keys that the layer adds
  /// stand last. PyTorch's second result is their mean over the heads.
  template <class M>
  Tensor<M> weights(const Tensor<M>& query, const std::type_identity_t<Tensor<M>>& key,
                    const std::type_identity_t<AttentionOptions<M>>& masks = {}) const {
    return detail::with_mode<M>(
        weigh(detail::modeless(query), detail::modeless(key), tyto::detail::in_any_mode(masks)));
  }

  /// Memory for sequences of up to `length` places.
  AttentionCache make_cache(std::int64_t batch, std::int64_t length) const;
  /// Causal self-attention of one more place: x (batch, 1, features) is at `position`, one integer below the
  /// cache's length; its key and value enter the cache, and it looks at itself and at all places before.
  template <class M>
  Tensor<M> next(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& position,
                 const AttentionCache& cache) const {
    return detail::with_mode<M>(read_on(detail::modeless(x), detail::modeless(position), cache));
  }

 private:
  Tensor<Any> with_extra(const Tensor<Any>& heads, const Tensor<Any>& learnt) const;
  void allow_extra(AttentionOptions<Any>& masks, std::int64_t queries, std::int64_t keys) const;
  Tensor<Any> weigh(const Tensor<Any>& query, const Tensor<Any>& key, AttentionOptions<Any> masks) const;
  Tensor<Any> read_on(const Tensor<Any>& x, const Tensor<Any>& position, const AttentionCache& cache) const;
  Tensor<Any> attend(const Tensor<Any>& query, const Tensor<Any>& key, const Tensor<Any>& value,
                     AttentionOptions<Any> masks, Phase phase) const;
  Tensor<Any> projected(const Tensor<Any>& x, int part, const Tensor<Any>& own_weight) const;
};

}  // namespace TYTO_API
}  // namespace tyto
