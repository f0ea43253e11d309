// SPDX-License-Identifier: MIT
// Scaled dot-product attention over (..., length, features), as a function of queries, keys and values.
#pragma once

#include <optional>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Masks, scale and dropout of attention. A mask that is not set forbids nothing.
template <class M>
struct AttentionOptions {
  /// Broadcast to (..., queries, keys): bool, true where a query may look at a key; or a number added to each score.
  Tensor<M> mask = {};
  /// Query i looks at keys 0 to i.
  bool causal = false;
  /// (batch, keys), true where a key is no padding; batch is the first axis of the queries.
  Tensor<M> key_mask = {};
  /// The factor of the scores; none: 1 / sqrt(features).
  std::optional<double> scale = {};
  /// Dropout: the probability with which a weight is set to 0, whoever calls; layers set it in training only.
  double dropout = 0;
};

namespace detail {
Tensor<Any> attention(const Tensor<Any>& queries, const Tensor<Any>& keys, const Tensor<Any>& values,
                      const AttentionOptions<Any>& options);

template <class M>
AttentionOptions<Any> in_any_mode(const AttentionOptions<M>& options) {
  return {Tensor<Any>(options.mask.value()), options.causal, Tensor<Any>(options.key_mask.value()), options.scale,
          options.dropout};
}
}  // namespace detail

/// softmax(scale * queries keysT + mask) values: (..., n, e), (..., m, e) and (..., m, v) give (..., n, v). A query
/// that may look nowhere yields zeros.
///
///     auto y = scaled_dot_product_attention(q, k, v, {.causal = true});
template <class M>
Tensor<M> scaled_dot_product_attention(const Tensor<M>& queries, const std::type_identity_t<Tensor<M>>& keys,
                                       const std::type_identity_t<Tensor<M>>& values,
                                       const std::type_identity_t<AttentionOptions<M>>& options = {}) {
  return Tensor<M>(detail::attention(Tensor<Any>(queries.value()), Tensor<Any>(keys.value()),
                                     Tensor<Any>(values.value()), detail::in_any_mode(options))
                       .value());
}

}  // namespace TYTO_API
