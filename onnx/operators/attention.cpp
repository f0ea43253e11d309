// SPDX-License-Identifier: MIT
// Attention, with positions and caches of keys and values.
#include <cmath>

#include "onnx/file/element_types.hpp"
#include "onnx/operators/attention_parts.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

Array by_head(const Array& x, std::int64_t heads) {
  if (x.ndim() == 4) return x;
  if (heads < 1) core::throw_error<ValueError>(heads, " heads; there must be one or more");
  return transpose(reshape(x, {axis_length(x, 0), axis_length(x, 1), heads, -1}), {0, 2, 1, 3});
}

Array for_heads(const Array& x, std::int64_t heads) {
  const std::int64_t own = axis_length(x, 1);
  if (own == heads) return x;
  if (own < 1 || heads % own != 0) core::throw_error<ShapeError>(heads, " heads of queries for ", own, " of keys");
  const Shape& s = x.shape();
  return reshape(broadcast_to(expand_dims(x, 2), {s[0], own, heads / own, s[2], s[3]}), {s[0], heads, s[2], s[3]});
}

Array joined_heads(const Array& x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {axis_length(x, 0), axis_length(x, 2), -1});
}

Array rotated(const Array& x, const Array& cosine, const Array& sine, std::int64_t turned, bool interleaved) {
  const Array part = part_of(x, -1, 0, turned);
  const Array a = interleaved ? part.get({ellipsis, slice(0, {}, 2)}) : part_of(part, -1, 0, turned / 2);
  const Array b = interleaved ? part.get({ellipsis, slice(1, {}, 2)}) : part.get({ellipsis, slice(turned / 2, {})});
  const Array real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  const Array y =
      interleaved ? reshape(stack<Any>({real, imaginary}, -1), part.shape()) : joined_pair(real, imaginary, -1);
  const std::int64_t features = axis_length(x, static_cast<std::size_t>(x.ndim() - 1));
  return turned < features ? joined_pair(y, x.get({ellipsis, slice(turned, {})}), -1) : y;
}

namespace {

/// The mask added to scores (batch, heads, queries, keys); stays an undefined tensor where every query sees every key.
class ScoreBias {
 public:
  ScoreBias(DType dtype, std::int64_t queries, std::int64_t keys) : dtype_(dtype), queries_(queries), keys_(keys) {}

  void add(const Array& numbers) { bias_ = bias_.defined() ? bias_ + numbers : numbers; }
  void allow(const Array& where_true) { add(where(where_true, Array::full({}, 0.0, dtype_), masked_score)); }

  /// Numbers to add, or bool; keys behind its end are forbidden.
  void add_mask(const Array& mask) {
    if (mask.ndim() < 1) throw ShapeError("a mask without axes");
    const auto last = static_cast<std::size_t>(mask.ndim() - 1);
    const std::int64_t missing = keys_ - axis_length(mask, last);
    IntList after(last + 1, 0);
    after[last] = std::max<std::int64_t>(missing, 0);
    const IntList before(last + 1, 0);
    if (mask.dtype() == DType::boolean)
      allow(missing > 0 ? pad(mask, before, after, PaddingMode::constant, false) : mask);
    else add(missing > 0 ? pad(mask, before, after, PaddingMode::constant, masked_score) : mask);
  }

  /// Distance from each key to each query after it: query i is at position `offset` + i.
  Array distance(const Array& offset) const {
    return offset + reshape(Array::arange(queries_), {queries_, 1}) - Array::arange(keys_);
  }

  /// Weights of keys by scores; queries that see no key at all get zeros.
  Array weights(const Array& scores) const {
    const Array y = softmax(scores, -1);
    if (!bias_.defined()) return y;
    return where(max(bias_, -1, true) == masked_score, 0.0, y);
  }
  Array applied(const Array& scores) const { return bias_.defined() ? scores + bias_ : scores; }

 private:
  DType dtype_;
  std::int64_t queries_;
  std::int64_t keys_;
  Array bias_;
};

Outputs attention(const OperatorCall& call) {
  const Array &q0 = call[0], &k0 = call[1], &v0 = call[2];
  const std::int64_t q_heads = call.integer("q_num_heads", q0.ndim() == 4 ? axis_length(q0, 1) : 0);
  const std::int64_t kv_heads = call.integer("kv_num_heads", k0.ndim() == 4 ? axis_length(k0, 1) : 0);
  const double cap = call.number("softcap", 0);
  const bool causal = call.integer("is_causal", 0) != 0;
  const std::int64_t shown = call.integer("qk_matmul_output_mode", 0);
  const std::int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  const std::optional<DType> precision =
      computed_dtype_from(call.integer("softmax_precision", element_type_of(q0.dtype())));
  if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0) call.refuse(q_heads, " heads for ", kv_heads, " of keys");
  if (!precision || shown < 0 || shown > 3) call.refuse("qk_matmul_output_mode ", shown, " or softmax_precision");
  for (const std::size_t i : {0, 1, 2}) {
    if (call[i].ndim() != 3 && call[i].ndim() != 4) call.refuse("input ", i, " of shape ", call[i].shape());
  }
  const Array q = by_head(q0, q_heads);
  Array k = by_head(k0, kv_heads), v = by_head(v0, kv_heads);
  Array offset = Array::full({}, 0, DType::i64);  // keys that come before the first query
  if (call.has(4)) {
    offset = Array::full({}, axis_length(call[4], 2), DType::i64);
    k = joined_pair(call[4], k, 2);
    v = joined_pair(call[5], v, 2);
  }
  const std::int64_t n = axis_length(q, 2), m = axis_length(k, 2);
  ScoreBias bias(q.dtype(), n, m);
  if (call.has(3)) bias.add_mask(call[3]);
  if (call.has(6)) {
    const Array lengths = reshape(cast(call[6], DType::i64), {-1, 1, 1, 1});
    if (!call.has(4)) offset = lengths - n;
    bias.allow(less(Array::arange(m), lengths));
  }
  if (causal) bias.allow(greater_equal(bias.distance(offset), 0));
  if (left >= 0) bias.allow(less_equal(bias.distance(offset), left));
  if (right >= 0) bias.allow(greater_equal(bias.distance(offset), -right));
  const double scale = std::sqrt(call.number("scale", 1 / std::sqrt(static_cast<double>(axis_length(q, 3)))));
  Array scores = matmul(q * scale, matrix_transpose(for_heads(k, q_heads)) * scale);
  if (cap > 0) scores = tanh(scores / cap) * cap;
  const Array masked = bias.applied(scores);
  const Array weights = cast(bias.weights(cast(masked, *precision)), q.dtype());
  Array y = matmul(weights, for_heads(v, q_heads));
  if (q0.ndim() == 3) y = joined_heads(y);
  return {y, k, v,
          shown == 3   ? weights
          : shown == 2 ? broadcast_to(masked, {axis_length(q, 0), q_heads, n, m})
                       : scores};
}

// Pairs of features turned by an angle for each position: halves of the features, or neighbours when interleaved.
Outputs rotary_embedding(const OperatorCall& call) {
  const bool flat = call[0].ndim() == 3, interleaved = call.integer("interleaved", 0) != 0;
  const std::int64_t heads = call.integer("num_heads", 0), stated = call.integer("rotary_embedding_dim", 0);
  if (flat && heads < 1) call.refuse("num_heads is needed for an input of three axes");
  // (batch, length, heads, features)
  const Array x =
      flat ? reshape(call[0], {axis_length(call[0], 0), axis_length(call[0], 1), heads, -1}) : swapaxes(call[0], 1, 2);
  const std::int64_t features = axis_length(x, 3), turned = stated == 0 ? features : stated;
  const auto cache = [&](std::size_t i) {
    const Array rows = call.has(3) ? take(call[i], call[3], 0) : call[i];
    return expand_dims(rows, 2);
  };
  const Array y = rotated(x, cache(1), cache(2), turned, interleaved);
  return {flat ? reshape(y, call[0].shape()) : swapaxes(y, 1, 2)};
}

// A part of each sequence's cache replaced, from a place of its own on; round and round in a circular one.
Outputs cache_update(const OperatorCall& call) {
  const Array &cache = call[0], &update = call[1];
  const std::string_view mode = call.text("mode", "linear");
  if (mode != "linear" && mode != "circular") call.refuse("mode '", mode, "'; known are linear and circular");
  std::int64_t axis = call.integer("axis", -2);
  if (axis < 0) axis += cache.ndim();
  if (axis < 1 || axis >= cache.ndim()) call.refuse("axis ", axis, " of shape ", cache.shape());
  const std::int64_t batch = axis_length(cache, 0), steps = axis_length(update, static_cast<std::size_t>(axis));
  Array places = reshape(Array::arange(steps), {1, steps});
  if (call.has(2)) places = places + reshape(cast(call[2], DType::i64), {batch, 1});
  if (mode == "circular") places = places % axis_length(cache, static_cast<std::size_t>(axis));
  const Array rows = reshape(Array::arange(batch), {batch, 1});
  const Array written = scatter<Any>(moveaxis(cache, axis, 1), {rows, places}, moveaxis(update, axis, 1));
  return {moveaxis(written, 1, axis)};
}

constexpr OperatorRow attention_table[] = {
    {"Attention", 23, attention},
    {"RotaryEmbedding", 23, rotary_embedding},
    {"TensorScatter", 24, cache_update},
};

}  // namespace

std::span<const OperatorRow> attention_rows() { return attention_table; }

}  // namespace tyto::onnx
