// SPDX-License-Identifier: MIT
// Multi-head attention: projections, heads and output.
#include "tyto/nn/attention.hpp"

#include <limits>

#include "nn/layer_parts.hpp"
#include "nn/running_call.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

constexpr const char* multihead = "MultiheadAttention";

const MultiheadAttentionOptions& checked(const MultiheadAttentionOptions& o) {
  if (o.features < 1 || o.heads < 1 || o.features % o.heads != 0) {
    core::throw_error<ValueError>(multihead, ": heads = ", o.heads, " must divide features = ", o.features);
  }
  if (!(o.dropout >= 0 && o.dropout < 1)) {
    core::throw_error<ValueError>(multihead, ": the dropout ", o.dropout, " must be in [0, 1)");
  }
  return o;
}

Tensor<Any> projection(const char* name, const MultiheadAttentionOptions& o, std::int64_t in, std::int64_t parts) {
  const Fans fans{static_cast<double>(in), static_cast<double>(o.features * parts)};
  return weight_parameter(name, o.initial, {in, o.features * parts}, fans, o.dtype);
}

void check_sequence(const char* what, const Tensor<Any>& x, std::int64_t features) {
  check_floating(multihead, x);
  if (x.ndim() != 3 || x.shape()[2] != features) {
    core::throw_error<ShapeError>(multihead, ": the ", what, " ", x.shape(), " must be (batch, length, ", features,
                                  ")");
  }
}

/// A mask that all heads share: an axis of heads before (queries, keys).
Tensor<Any> for_all_heads(const Tensor<Any>& mask) {
  return !mask.defined() || mask.ndim() != 3 ? mask : expand_dims(mask, {1});
}

}  // namespace

MultiheadAttention::MultiheadAttention(const MultiheadAttentionOptions& given)
    : options(checked(given)),
      out_proj({.in = given.features,
                .out = given.features,
                .bias = given.bias,
                .initial = given.initial,
                .dtype = given.dtype}) {
  if (options.key_features == 0) options.key_features = options.features;
  if (options.value_features == 0) options.value_features = options.features;
  if (options.key_features == options.features && options.value_features == options.features) {
    in_proj_weight = projection("in_proj_weight", options, options.features, 3);
  } else {
    q_proj_weight = projection("q_proj_weight", options, options.features, 1);
    k_proj_weight = projection("k_proj_weight", options, options.key_features, 1);
    v_proj_weight = projection("v_proj_weight", options, options.value_features, 1);
  }
  if (options.extra_key) {
    const double size = static_cast<double>(options.features);
    bias_k = weight_parameter("bias_k", options.initial, {1, 1, options.features}, {size, size}, options.dtype);
    bias_v = weight_parameter("bias_v", options.initial, {1, 1, options.features}, {size, size}, options.dtype);
  }
  if (options.bias) in_proj_bias = zero_parameter("in_proj_bias", {3 * options.features}, options.dtype);
}

Members MultiheadAttention::members() const {
  const IntList exchanged{1, 0};
  return {{"in_proj_weight", in_proj_weight, StateKind::parameter, exchanged},
          {"q_proj_weight", q_proj_weight, StateKind::parameter, exchanged},
          {"k_proj_weight", k_proj_weight, StateKind::parameter, exchanged},
          {"v_proj_weight", v_proj_weight, StateKind::parameter, exchanged},
          {"in_proj_bias", in_proj_bias},
          {"bias_k", bias_k},
          {"bias_v", bias_v},
          {"out_proj", out_proj}};
}

/// (batch, length, any) to (batch, heads, length, features / heads).
Tensor<Any> MultiheadAttention::projected(const Tensor<Any>& x, int part, const Tensor<Any>& own_weight) const {
  const auto columns = slice(part * options.features, (part + 1) * options.features);
  const Tensor<Any> weight = !own_weight.defined() ? in_proj_weight.get({tyto::all, columns}) : own_weight;
  Tensor<Any> y = matmul(to_multiply(x), to_multiply(weight));
  if (in_proj_bias.defined()) y = y + to_multiply(in_proj_bias.get({columns}));
  const std::int64_t batch = x.shape()[0], length = x.shape()[1];
  return transpose(reshape(y, {batch, length, options.heads, options.features / options.heads}), {0, 2, 1, 3});
}

/// Keys or values (batch, heads, length, features / heads) and behind them what the layer adds.
Tensor<Any> MultiheadAttention::with_extra(const Tensor<Any>& heads, const Tensor<Any>& learnt) const {
  if (!options.extra_key && !options.zero_key) return heads;
  const std::int64_t size = options.features / options.heads;
  const Shape one{heads.shape()[0], options.heads, 1, size};
  std::vector<Tensor<Any>> parts{heads};
  if (options.extra_key) {
    const Tensor<Any> own = reshape(as_type(to_multiply(learnt), heads.dtype()), {1, options.heads, 1, size});
    parts.push_back(broadcast_to(own, one));
  }
  if (options.zero_key) parts.push_back(Tensor<Any>::zeros(one, heads.dtype()));
  return concat(parts, 2);
}

/// Masks of the keys that were given, for these and what the layer adds behind them.
void MultiheadAttention::allow_extra(AttentionOptions<Any>& masks, std::int64_t queries, std::int64_t keys) const {
  const std::int64_t extra = (options.extra_key ? 1 : 0) + (options.zero_key ? 1 : 0);
  if (extra == 0) return;
  const auto longer = [&](const Tensor<Any>& mask) {
    Shape given = mask.shape(), added = given;
    given[given.size() - 1] = keys;
    added[added.size() - 1] = extra;
    const bool allowing = mask.dtype() == DType::boolean;
    return concat<Any>({broadcast_to(mask, given), Tensor<Any>::full(added, allowing ? 1 : 0, mask.dtype())}, -1);
  };
  if (masks.causal) {
    const Tensor<Any> before = Tensor<Any>::tri(queries, keys, 0, DType::boolean);
    const Tensor<Any>& mask = masks.mask;
    if (!mask.defined()) masks.mask = before;
    else if (mask.dtype() == DType::boolean) masks.mask = before && mask;
    else masks.mask = where(before, mask, -std::numeric_limits<double>::infinity());
    masks.causal = false;
  }
  if (masks.mask.defined() && masks.mask.ndim() > 0) masks.mask = longer(masks.mask);
  if (masks.key_mask.defined()) masks.key_mask = longer(masks.key_mask);
}

Tensor<Any> MultiheadAttention::attend(const Tensor<Any>& query, const Tensor<Any>& key, const Tensor<Any>& value,
                                       AttentionOptions<Any> masks, Phase phase) const {
  return LayerCall(*this, phase).run([&]() -> Tensor<Any> {
    check_sequence("query", query, options.features);
    check_sequence("key", key, options.key_features);
    check_sequence("value", value, options.value_features);
    masks.mask = for_all_heads(masks.mask);
    masks.dropout = options.dropout > 0 && is_training("MultiheadAttention", phase) ? options.dropout : 0;
    allow_extra(masks, query.shape()[1], key.shape()[1]);
    const Tensor<Any> keys = with_extra(projected(key, 1, k_proj_weight), bias_k);
    const Tensor<Any> values = with_extra(projected(value, 2, v_proj_weight), bias_v);
    const Tensor<Any> heads = scaled_dot_product_attention(projected(query, 0, q_proj_weight), keys, values, masks);
    return out_proj(reshape(transpose(heads, {0, 2, 1, 3}), query.shape()), phase);
  });
}

Tensor<Any> MultiheadAttention::weigh(const Tensor<Any>& query, const Tensor<Any>& key,
                                      AttentionOptions<Any> masks) const {
  check_sequence("query", query, options.features);
  check_sequence("key", key, options.key_features);
  masks.mask = for_all_heads(masks.mask);
  allow_extra(masks, query.shape()[1], key.shape()[1]);
  const Tensor<Any> keys = with_extra(projected(key, 1, k_proj_weight), bias_k);
  // Attention over unit vectors as values returns the weights themselves.
  const std::int64_t count = keys.shape()[2];
  const Tensor<Any> units =
      broadcast_to(Tensor<Any>::eye(count, count, 0, keys.dtype()), {key.shape()[0], options.heads, count, count});
  return scaled_dot_product_attention(projected(query, 0, q_proj_weight), keys, units, masks);
}

AttentionCache MultiheadAttention::make_cache(std::int64_t batch, std::int64_t length) const {
  if (options.key_features != options.features || options.value_features != options.features) {
    core::throw_error<ValueError>(multihead, ": a cache is for self-attention; keys have ", options.key_features,
                                  " features and values ", options.value_features, ", not ", options.features);
  }
  if (batch < 1 || length < 1) {
    core::throw_error<ValueError>(multihead, ": a cache for ", batch, " sequences of ", length,
                                  " places; both must be at least 1");
  }
  const Tensor<Any> zeros =
      Tensor<Any>::zeros({batch, options.heads, length, options.features / options.heads}, options.dtype);
  return {Tensor<Any>::persistent(zeros, "keys"), Tensor<Any>::persistent(zeros, "values")};
}

Tensor<Any> MultiheadAttention::read_on(const Tensor<Any>& x, const Tensor<Any>& given_position,
                                        const AttentionCache& cache) const {
  return LayerCall(*this, inference).run([&]() -> Tensor<Any> {
    check_sequence("x", x, options.features);
    const std::int64_t batch = x.shape()[0], length = cache.keys.shape()[2];
    if (x.shape()[1] != 1 || batch != cache.keys.shape()[0]) {
      core::throw_error<ShapeError>(multihead, ": x ", x.shape(), " must be (", cache.keys.shape()[0],
                                    ", 1, features), a place of each sequence of the cache");
    }
    const Tensor<Any> position =
        check_bounds(given_position, {0, length - 1, multihead, "position", "places of the cache"});
    const Tensor<Any> places = Tensor<Any>::arange(length);
    const Tensor<Any> here = reshape(places == position, {length, 1});
    const auto entered = [&](const Tensor<Any>& before, int part) {
      const Tensor<Any> after = where(here, projected(x, part, {}), before);
      assign(before, after);
      return after;
    };
    const Tensor<Any> keys = entered(cache.keys, 1);
    const Tensor<Any> values = entered(cache.values, 2);
    AttentionOptions<Any> masks{.mask = reshape(places <= position, {1, length})};
    allow_extra(masks, 1, length);
    const Tensor<Any> heads =
        scaled_dot_product_attention(projected(x, 0, {}), with_extra(keys, bias_k), with_extra(values, bias_v), masks);
    return out_proj(reshape(transpose(heads, {0, 2, 1, 3}), x.shape()));
  });
}

Tensor<Any> MultiheadAttention::forward(const Tensor<Any>& x, Phase phase) const { return attend(x, x, x, {}, phase); }

}  // namespace nn
}  // namespace TYTO_API
