// SPDX-License-Identifier: MIT
// Attention as ONNX Runtime's own domain has it: with projections, with a cache of keys and values, with rotated
// positions.
#include <cmath>

#include "onnx/operators/attention_parts.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

void require_rank(const OperatorCall& call, std::size_t input, int rank) {
  if (call.has(input) && call[input].ndim() != rank) {
    call.refuse("input ", input, " of shape ", call[input].shape(), ", expected ", rank, " axes");
  }
}

// Masked keys get a large negative score: by number of keys (or their end and their start), by key, by query and key.
Array with_mask(const OperatorCall& call, const Array& scores, const Array& mask) {
  if (!mask.defined()) return scores;
  const std::int64_t batch = axis_length(scores, 0), keys = axis_length(scores, 3);
  const double forbidden = call.number("mask_filter_value", -10000);
  const auto numbers = [&](std::int64_t from) {
    return reshape(cast(part_of(mask, 0, from, from + batch), DType::i64), {batch, 1, 1, 1});
  };
  Array allowed = mask;
  if (mask.ndim() == 1 && (mask.size() == batch || mask.size() == 2 * batch)) {
    allowed = less(Array::arange(keys), numbers(0));
    if (mask.size() != batch) allowed = logical_and(allowed, greater_equal(Array::arange(keys), numbers(batch)));
  } else if (mask.ndim() == 2) {
    allowed = reshape(mask, {axis_length(mask, 0), 1, 1, keys}) != 0;
  } else if (mask.ndim() == 3) {
    allowed = expand_dims(mask, 1) != 0;
  } else {
    call.refuse("a mask of shape ", mask.shape());
  }
  return scores + where(allowed, Array::full({}, 0.0, scores.dtype()), forbidden);
}

double score_factor(const OperatorCall& call, const Array& q) {
  const double scale = call.number("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(axis_length(q, 3)));
}

// Causal: a query sees the keys of the past and those up to its own place; the last one, as ONNX Runtime has it, sees
// all.
Array attended(const OperatorCall& call, const Array& q, const Array& k, const Array& v, const Array& mask,
               const Array& bias, bool causal, std::int64_t past) {
  Array scores = matmul(q, matrix_transpose(k)) * score_factor(call, q);
  scores = with_mask(call, scores, mask);
  if (bias.defined()) scores = scores + bias;
  if (causal) {
    const std::int64_t n = axis_length(q, 2), m = axis_length(k, 2);
    Array allowed = tril(Array::ones({n, m}), past) != 0;
    if (m > past + n) allowed = logical_or(allowed, expand_dims(equal(Array::arange(n), n - 1), 1));
    scores = where(allowed, scores, masked_score);
  }
  return matmul(softmax(scores, -1), v);
}

// Columns of x in parts of these widths.
std::vector<Array> in_widths(const OperatorCall& call, const Array& x, const std::vector<std::int64_t>& widths) {
  std::int64_t total = 0;
  std::vector<Array> parts;
  for (const std::int64_t width : widths) {
    parts.push_back(part_of(x, -1, total, total + width));
    total += width;
  }
  const std::int64_t columns = axis_length(x, static_cast<std::size_t>(x.ndim() - 1));
  if (total != columns) call.refuse("queries, keys and values of ", total, " features in all, the input has ", columns);
  return parts;
}

// One matrix makes queries, keys and values of the input. Past ones come as (2, batch, heads, length, features).
Outputs attention_of_one(const OperatorCall& call) {
  const std::int64_t heads = call.integer("num_heads");
  call.require_bounded("num_heads", heads);
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (call.integer("do_rotary", 0) != 0 || call.integer("past_present_share_buffer", 0) != 0 || call.has(6)) {
    call.refuse("rotary positions and a buffer that past and present share are not supported");
  }
  require_rank(call, 0, 3);
  require_rank(call, 1, 2);
  require_rank(call, 4, 5);
  Array all_three = matmul(call[0], call[1]);
  if (call.has(2)) all_three = all_three + call[2];
  const std::int64_t third = axis_length(all_three, 2) / 3;
  const std::vector<std::int64_t> widths = call.integers("qkv_hidden_sizes", {third, third, third});
  call.require_bounded("qkv_hidden_sizes", widths);
  if (widths.size() != 3) call.refuse("qkv_hidden_sizes of ", widths.size(), " numbers, expected 3");
  const std::vector<Array> parts = in_widths(call, all_three, widths);
  Array k = by_head(parts[1], heads), v = by_head(parts[2], heads);
  if (call.has(4)) {
    k = joined_pair(at_position(call[4], 0, 0), k, 2);
    v = joined_pair(at_position(call[4], 0, 1), v, 2);
  }
  const std::int64_t past = call.has(4) ? axis_length(call[4], 3) : 0;
  const Array y = attended(call, by_head(parts[0], heads), k, v, call.optional(3), call.optional(5), causal, past);
  if (!call.wants(1)) return {joined_heads(y)};
  return {joined_heads(y), stack<Any>({k, v}, 0)};
}

// Keys and values may come by head already; past ones do.
Outputs attention_of_three(const OperatorCall& call) {
  const std::int64_t heads = call.integer("num_heads");
  call.require_bounded("num_heads", heads);
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (call.has(8) || call.has(9) || call.wants(3)) {
    call.refuse("a buffer that past and present share, and scores as a result, are not supported");
  }
  Array q = call[0], k = call[1], v = call[2];
  if (q.ndim() != 3 || (k.ndim() != 3 && k.ndim() != 4) || v.ndim() != k.ndim()) {
    call.refuse("packed queries, keys and values are not supported");
  }
  if (call.has(3)) {
    if (k.ndim() != 3) call.refuse("a bias of keys that come by head already");
    const std::vector<Array> biases =
        in_widths(call, call[3], {axis_length(q, 2), axis_length(k, 2), axis_length(v, 2)});
    q = q + biases[0];
    k = k + biases[1];
    v = v + biases[2];
  }
  k = by_head(k, heads);
  v = by_head(v, heads);
  if (call.has(6)) {
    k = joined_pair(call[6], k, 2);
    v = joined_pair(call[7], v, 2);
  }
  const std::int64_t past = call.has(6) ? axis_length(call[6], 2) : 0;
  const Array y = attended(call, by_head(q, heads), k, v, call.optional(4), call.optional(5), causal, past);
  return {joined_heads(y), k, v};
}

/// Where each sequence of a batch goes on in its cache.
struct CachePlace {
  std::int64_t batch = 1;
  std::int64_t steps = 1;               // new places
  std::int64_t length = 1;              // of the cache, with the new places
  std::optional<std::int64_t> at = {};  // where new places begin, if it is the same for all and known
  Array starts = {};                    // the same as (batch or 1, 1)

  Array places() const { return starts + reshape(Array::arange(steps), {1, steps}); }
};

// The cache (batch, heads, length, features) with new keys or values at their places, and zeros behind them.
Array continued(const OperatorCall& call, const Array& past, const Array& fresh, const CachePlace& place) {
  const std::int64_t before = past.defined() ? axis_length(past, 2) : 0;
  const Shape& s = fresh.shape();
  const auto blank = [&](std::int64_t places) {
    return broadcast_to(Array::full({}, 0.0, fresh.dtype()), {s[0], s[1], places, s[3]});
  };
  if (place.at) {
    const std::int64_t end = *place.at + place.steps;
    if (before < *place.at) call.refuse("a cache of ", before, " places, where ", *place.at, " are past");
    std::vector<Array> parts;
    if (*place.at > 0) parts.push_back(part_of(past, 2, 0, *place.at));
    parts.push_back(fresh);
    if (before > end) parts.push_back(blank(before - end));
    return parts.size() == 1 ? fresh : concat(parts, 2);
  }
  Array cache = past;
  if (before < place.length) {
    const Array more = blank(place.length - before);
    cache = before == 0 ? more : joined_pair(past, more, 2);
  }
  const Array sequences = reshape(Array::arange(s[0]), {s[0], 1});
  const Array written = scatter<Any>(moveaxis(cache, 2, 1), {sequences, place.places()}, moveaxis(fresh, 2, 1));
  const Array ends = reshape(place.starts + place.steps, {-1, 1, 1, 1});
  return where(less(reshape(Array::arange(place.length), {1, 1, -1, 1}), ends), moveaxis(written, 1, 2), 0.0);
}

// The first places of all sequences come together, with padding behind the shorter ones; later ones follow each its
// own.
CachePlace cache_place(const OperatorCall& call, const Array& q, const Array& past) {
  CachePlace place;
  place.batch = axis_length(q, 0);
  place.steps = axis_length(q, 1);
  const std::int64_t total = call.integer_in(6);
  place.length = std::max(total, past.defined() ? axis_length(past, 2) : std::int64_t{0});
  if (total == place.steps) place.at = 0;
  else if (place.batch == 1) place.at = total - place.steps;
  if (place.at && *place.at < 0) call.refuse(place.steps, " places, of which there are ", total, " in all");
  place.starts = place.at ? Array::full({1, 1}, *place.at, DType::i64)
                          : reshape(cast(call[5], DType::i64), {place.batch, 1}) + (1 - place.steps);
  return place;
}

// Shares of the keys; a score that no key has takes its share of each row when there is one.
Array shares(const Array& scores, const Array& sink) {
  if (!sink.defined()) return softmax(scores, -1);
  const Shape& s = scores.shape();
  const Array with_sink = joined_pair(scores, broadcast_to(cast(sink, scores.dtype()), {s[0], s[1], s[2], 1}), -1);
  return part_of(softmax(with_sink, -1), -1, 0, s[3]);
}

void refuse_unsupported(const OperatorCall& call) {
  if (call.integer("kv_cache_bit_width", 0) != 0 || call.integer("qk_output", 0) != 0 || call.wants(3)) {
    call.refuse("quantised caches, and scores as a result, are not supported");
  }
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (call.text(name, "NONE") != "NONE") call.refuse(name, " ", call.text(name, "NONE"), " is not supported");
  }
}

// Several heads of queries share one of keys and values; each place sees itself and those before it, up to a distance.
Outputs grouped_attention(const OperatorCall& call) {
  const std::int64_t heads = call.integer("num_heads"), own = call.integer("kv_num_heads");
  const std::int64_t window = call.integer("local_window_size", -1);
  const double cap = call.number("softcap", 0);
  const bool rotary = call.integer("do_rotary", 0) != 0, interleaved = call.integer("rotary_interleaved", 0) != 0;
  refuse_unsupported(call);
  for (const std::size_t input : {0, 1, 2}) require_rank(call, input, 3);
  for (const std::size_t cache : {3, 4}) require_rank(call, cache, 4);
  for (const std::size_t table : {7, 8}) require_rank(call, table, 2);
  call.require_bounded("num_heads", heads);
  call.require_bounded("kv_num_heads", own);
  if (heads < 1 || own < 1 || heads % own != 0) call.refuse(heads, " heads for ", own, " of keys");
  std::vector<Array> parts{call[0], call.optional(1), call.optional(2)};
  if (!call.has(1)) {
    const std::int64_t features = axis_length(call[0], 2) / (heads + 2 * own);
    parts = in_widths(call, call[0], {heads * features, own * features, own * features});
  }
  const std::int64_t batch = axis_length(call[0], 0), steps = axis_length(call[0], 1);
  const CachePlace place = cache_place(call, call[0], call.optional(3));
  const auto apart = [&](const Array& x, std::int64_t count) { return reshape(x, {batch, steps, count, -1}); };
  Array q = apart(parts[0], heads), k = apart(parts[1], own);
  const Array v = swapaxes(apart(parts[2], own), 1, 2);
  if (rotary) {
    const Array places = call.has(9) ? cast(call[9], DType::i64) : place.places();
    const Array cosine = expand_dims(take(call[7], places, 0), 2), sine = expand_dims(take(call[8], places, 0), 2);
    const std::int64_t turned = 2 * axis_length(call[7], 1);
    q = rotated(q, cosine, sine, turned, interleaved);
    k = rotated(k, cosine, sine, turned, interleaved);
  }
  q = swapaxes(q, 1, 2);
  const Array keys = continued(call, call.optional(3), swapaxes(k, 1, 2), place);
  const Array values = continued(call, call.optional(4), v, place);
  Array scores = matmul(q, matrix_transpose(for_heads(keys, heads))) * score_factor(call, q);
  if (cap > 0) scores = tanh(scores / cap) * cap;
  if (call.has(10)) scores = scores + call[10];
  const Array distance = expand_dims(expand_dims(place.places(), 1), 3) - Array::arange(place.length);
  Array allowed = greater_equal(distance, 0);
  if (window > 0) allowed = logical_and(allowed, less(distance, window));
  scores = where(allowed, scores, masked_score);
  Array sink;
  if (call.integer("smooth_softmax", 0) == 1) sink = Array::full({}, 0.0, scores.dtype());
  if (call.has(11)) sink = reshape(call[11], {1, heads, 1, 1});
  return {joined_heads(matmul(shares(scores, sink), for_heads(values, heads))), keys, values};
}

// Positions are listed, or one is given from which all sequences go on.
Outputs rotary_with_positions(const OperatorCall& call) {
  const bool flat = call[0].ndim() == 3, interleaved = call.integer("interleaved", 0) != 0;
  const std::int64_t heads = call.integer("num_heads", 0), stated = call.integer("rotary_embedding_dim", 0);
  if (call.integer("is_packed_batching", 0) != 0 || call.number("scale", 1) != 1) {
    call.refuse("packed batches and scales are not supported");
  }
  for (const std::size_t table : {2, 3}) require_rank(call, table, 2);
  if (!flat) require_rank(call, 0, 4);
  const std::int64_t turned = 2 * axis_length(call[2], 1);
  if (stated != 0 && (stated != turned || heads < 1)) {
    call.refuse("rotary_embedding_dim ", stated, " with ", heads, " heads and a table of ", turned / 2, " columns");
  }
  Array x = flat ? call[0] : swapaxes(call[0], 1, 2);
  if (flat) {
    const std::int64_t features = stated == 0 ? turned : axis_length(x, 2) / heads;
    x = reshape(x, {axis_length(x, 0), axis_length(x, 1), -1, features});
  }
  Array places = cast(call[1], DType::i64);
  if (places.ndim() == 1) places = reshape(places, {1, 1}) + reshape(Array::arange(axis_length(x, 1)), {1, -1});
  const auto table = [&](std::size_t i) { return expand_dims(take(call[i], places, 0), 2); };
  const Array y = rotated(x, table(2), table(3), turned, interleaved);
  return {flat ? reshape(y, call[0].shape()) : swapaxes(y, 1, 2)};
}

constexpr OperatorRow microsoft_attention_table[] = {
    {"Attention", 1, attention_of_one},
    {"GroupQueryAttention", 1, grouped_attention},
    {"MultiHeadAttention", 1, attention_of_three},
    {"RotaryEmbedding", 1, rotary_with_positions},
};

}  // namespace

std::span<const OperatorRow> microsoft_attention_rows() { return microsoft_attention_table; }

}  // namespace tyto::onnx
