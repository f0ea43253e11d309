// SPDX-License-Identifier: MIT
// Layers of recent language models that carry a state: linear attention and causal convolutions.
#include <cmath>

#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"
#include "tyto/windows.hpp"

namespace tyto::onnx {

namespace {

// (batch, length, heads * features) as (batch, heads, length, features), in f32.
Array heads_of(const Array& x, std::int64_t heads) {
  const Array wide = cast(x, DType::f32);
  return transpose(reshape(wide, {axis_length(x, 0), axis_length(x, 1), heads, -1}), {0, 2, 1, 3});
}

// The state is a matrix for each head, to which each moment adds key times value; it may fade, and be corrected for
// what it holds already.
Outputs linear_attention(const OperatorCall& call) {
  const std::int64_t q_heads = call.integer("q_num_heads"), kv_heads = call.integer("kv_num_heads");
  const std::string_view rule = call.text("update_rule", "gated_delta");
  const double stated = call.number("scale", 0);
  call.ignore("chunk_size");
  const bool fades = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
  if (!fades && !corrected && rule != "linear") {
    call.refuse("update_rule '", rule, "'; known are linear, gated, delta and gated_delta");
  }
  if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0) call.refuse(q_heads, " heads for ", kv_heads, " of keys");
  const Array q = heads_of(call[0], q_heads), k = heads_of(call[1], kv_heads), v = heads_of(call[2], kv_heads);
  const std::int64_t batch = axis_length(q, 0), steps = axis_length(q, 2), features = axis_length(q, 3),
                     group = q_heads / kv_heads;
  Array fade, rate;
  if (fades) {
    const bool by_head = axis_length(call[4], 2) == kv_heads && features != 1;
    fade = exp(by_head ? transpose(reshape(cast(call[4], DType::f32), {batch, steps, kv_heads, 1}), {0, 2, 1, 3})
                       : heads_of(call[4], kv_heads));
  }
  if (corrected) rate = transpose(expand_dims(cast(call[5], DType::f32), -1), {0, 2, 1, 3});
  const Array state =
      call.has(3) ? cast(call[3], DType::f32)
                  : broadcast_to(Array::full({}, 0.0, DType::f32), {batch, kv_heads, features, axis_length(v, 3)});
  const double scale = stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(features));
  using Parts = std::vector<Array>;
  const auto by_moment = [](const Array& each) { return transpose(each, {2, 0, 1, 3}); };
  Parts rows{by_moment(q), by_moment(k), by_moment(v)};
  if (fades) rows.push_back(by_moment(fade));
  if (corrected) rows.push_back(by_moment(rate));
  const auto moment = [&](const Array& before, const Parts& row) {
    const Array& key = row[1];
    Array value = row[2], after = before;
    if (fades) after = after * expand_dims(row[3], -1);
    if (corrected) {
      const Array held = squeeze(matmul(expand_dims(key, -2), after), -2);
      value = row.back() * (value - held);
    }
    after = after + expand_dims(key, -1) * expand_dims(value, -2);
    // Heads of queries that share a state read it together.
    const Array query = reshape(row[0], {batch, kv_heads, group, features});
    return std::pair(after, reshape(matmul(query, after) * scale, {batch, q_heads, -1}));
  };
  const auto [last, outputs] = scan(moment, state, rows);
  const Array y = reshape(swapaxes(outputs, 0, 1), {batch, steps, -1});
  return {cast(y, call[0].dtype()), cast(last, call.has(3) ? call[3].dtype() : call[0].dtype())};
}

// Each channel by a window of its own that ends at the present; what it has seen of the past is its state.
Outputs causal_convolution(const OperatorCall& call) {
  const Array &x = call[0], &w = call[1];
  const std::string_view activation = call.text("activation", "none");
  const std::int64_t channels = axis_length(x, 1), past = axis_length(w, 2) - 1;
  const Array before =
      call.has(3) ? call[3] : broadcast_to(Array::full({}, 0.0, x.dtype()), {axis_length(x, 0), channels, past});
  const Array whole = joined_pair(before, x, 2);
  Array y = convolution(whole, w, {.groups = channels, .layout = nchw});
  if (call.has(2)) y = y + by_channel(call[2], 3);
  if (activation == "silu" || activation == "swish") y = silu(y);
  else if (activation != "none") call.refuse("activation '", activation, "'; known are none, silu and swish");
  return {y, whole.get({ellipsis, slice(axis_length(whole, 2) - past, {})})};
}

constexpr OperatorRow state_space_table[] = {
    {"CausalConvWithState", 27, causal_convolution},
    {"LinearAttention", 27, linear_attention},
};

}  // namespace

std::span<const OperatorRow> state_space_rows() { return state_space_table; }

}  // namespace tyto::onnx
