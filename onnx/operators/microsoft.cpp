// Operators of ONNX Runtime's own domain that its optimiser and PyTorch's exporters write.
#include <cmath>
#include <limits>

#include "onnx/activation.hpp"
#include "onnx/convolutions.hpp"
#include "onnx/normalisation.hpp"
#include "onnx/operators.hpp"
#include "onnx/quantisation.hpp"
#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs gelu_with_bias(const OperatorCall& call) { return {gelu(call.has(1) ? call[0] + call[1] : call[0])}; }
Outputs fast_gelu(const OperatorCall& call) { return {gelu_by_tanh(call.has(1) ? call[0] + call[1] : call[0])}; }
Outputs quick_gelu(const OperatorCall& call) { return {call[0] * sigmoid(call[0] * call.number("alpha", 1.702))}; }

// An activation by name with its parameters in a list.
Array activated(const OperatorCall& call, const Array& x) {
  const std::string name = call.text("activation", "");
  const std::vector<double> p = call.numbers("activation_params");
  const auto parameter = [&](std::size_t i, double otherwise) { return i < p.size() ? p[i] : otherwise; };
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return leaky_relu(x, parameter(0, 0.01));
  if (name == "Clip") return clip(x, parameter(0, -3.4e38), parameter(1, 3.4e38));
  if (name == "HardSigmoid") return hard_sigmoid(x, parameter(0, 0.2), parameter(1, 0.5));
  call.refuse("activation '", name, "' is not known");
}

Outputs fused_convolution(const OperatorCall& call) {
  const Array y = convolved(call, call[0], kernels_of(call, 1, call[1]), call.optional(2));
  return {activated(call, call.has(3) ? y + call[3] : y)};
}

Outputs fused_product(const OperatorCall& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0)
    call.refuse("transBatchA and transBatchB");
  const Array a = call.integer("transA", 0) != 0 ? matrix_transpose(call[0]) : call[0];
  const Array b = call.integer("transB", 0) != 0 ? matrix_transpose(call[1]) : call[1];
  const double alpha = call.number("alpha", 1);
  return {alpha == 1 ? matmul(a, b) : matmul(a, b) * alpha};
}

Outputs fused_general_product(const OperatorCall& call) {
  const Array a = call.integer("transA", 0) != 0 ? matrix_transpose(call[0]) : call[0];
  const Array b = call.integer("transB", 0) != 0 ? matrix_transpose(call[1]) : call[1];
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  Array y = matmul(a, b) * alpha;
  if (call.has(2)) y = y + call[2] * beta;
  return {activated(call, y)};
}

// Inputs: x, what skipped a layer, factors, offsets, bias. The sum is an output too.
Outputs skip_layer_norm(const OperatorCall& call) {
  Array total = call[0] + call[1];
  if (call.has(4)) total = total + call[4];
  const Normalised n = normalised(total, -1, call.number("epsilon", 1e-12));
  const Array y = n.result * call[2];
  return {call.has(3) ? y + call[3] : y, n.mean, n.inverse_deviation, total};
}
Outputs skip_simplified_layer_norm(const OperatorCall& call) {
  Array total = call[0] + call[1];
  if (call.has(3)) total = total + call[3];
  const Array y = root_mean_square_normalised(total, -1, call.number("epsilon", 1e-12)) * call[2];
  return {y, y, y, total};
}

// Word, place and segment vectors added up and normalised.
Outputs embed_layer_norm(const OperatorCall& call) {
  const Array& words = call[0];
  call.ignore("mask_index_type");
  const std::int64_t length = words.shape()[1];
  const Array places = call.has(8) ? call[8] : Array::arange(length);
  Array total = take(call[2], words, 0) + take(call[3], places, 0);
  if (call.has(4)) total = total + take(call[4], call[1], 0);
  const Array y = normalised(total, -1, call.number("epsilon", 1e-12)).result * call[5] + call[6];
  const Array counts = call.has(7) ? cast(sum(call[7], 1), DType::i32) : Array::zeros({words.shape()[0]}, DType::i32);
  return {y, counts, total};
}

Array split_heads(const Array& x, std::int64_t heads) {
  return transpose(reshape(x, {x.shape()[0], x.shape()[1], heads, -1}), {0, 2, 1, 3});
}
Array join_heads(const Array& x) { return reshape(transpose(x, {0, 2, 1, 3}), {x.shape()[0], x.shape()[2], -1}); }

// What is forbidden gets a large negative score: by number of keys, by key, by query and key.
Array with_mask(const OperatorCall& call, const Array& scores, const Array& mask) {
  if (!mask.defined()) return scores;
  const std::int64_t batch = scores.shape()[0], keys = scores.shape()[3];
  const double forbidden = call.number("mask_filter_value", -10000);
  Array allowed = mask;
  if (mask.ndim() == 1 && mask.size() == batch) {
    allowed = less(Array::arange(keys), reshape(cast(mask, DType::i64), {batch, 1, 1, 1}));
  } else if (mask.ndim() == 2) {
    allowed = reshape(mask, {mask.shape()[0], 1, 1, keys}) != 0;
  } else if (mask.ndim() == 3) {
    allowed = expand_dims(mask, 1) != 0;
  } else {
    call.refuse("a mask of shape ", mask.shape());
  }
  return scores + where(allowed, Array::full({}, 0.0, scores.dtype()), forbidden);
}

Array attended(const OperatorCall& call, const Array& q, const Array& k, const Array& v, const Array& mask,
               const Array& bias, bool causal) {
  const double scale = call.number("scale", 0);
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.shape()[3]));
  Array scores = matmul(q, matrix_transpose(k)) * factor;
  scores = with_mask(call, scores, mask);
  if (bias.defined()) scores = scores + bias;
  if (causal) {
    const std::int64_t n = q.shape()[2], m = k.shape()[2];
    const Array allowed = tril(Array::ones({n, m}), m - n) != 0;
    scores = where(allowed, scores, -std::numeric_limits<double>::infinity());
  }
  return matmul(softmax(scores, -1), v);
}

// One matrix makes queries, keys and values of the input.
Outputs attention_of_one(const OperatorCall& call) {
  const std::int64_t heads = call.integer("num_heads");
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (call.has("qkv_hidden_sizes") || call.integer("do_rotary", 0) != 0 || call.has(4) || call.has(6)) {
    call.refuse("sizes of its own for queries, keys and values, rotary positions and past keys are not supported");
  }
  Array all_three = matmul(call[0], call[1]);
  if (call.has(2)) all_three = all_three + call[2];
  const std::vector<Array> parts = split(all_three, 3, -1);
  const Array y = attended(call, split_heads(parts[0], heads), split_heads(parts[1], heads),
                           split_heads(parts[2], heads), call.optional(3), call.optional(5), causal);
  return {join_heads(y)};
}

Outputs attention_of_three(const OperatorCall& call) {
  const std::int64_t heads = call.integer("num_heads");
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (call.has(6) || call.has(7)) call.refuse("past keys and values are not supported");
  Array q = call[0], k = call[1], v = call[2];
  if (q.ndim() != 3 || k.ndim() != 3 || v.ndim() != 3) call.refuse("packed queries, keys and values are not supported");
  if (call.has(3)) {
    const std::int64_t a = q.shape()[2], b = a + k.shape()[2];
    q = q + call[3].get({slice(0, a)});
    k = k + call[3].get({slice(a, b)});
    v = v + call[3].get({slice(b, {})});
  }
  const Array y = attended(call, split_heads(q, heads), split_heads(k, heads), split_heads(v, heads), call.optional(4),
                           call.optional(5), causal);
  return {join_heads(y)};
}

// Inputs of two quantised numbers in a row: x, scale, zero point, twice; then those of the result.
template <Array (*f)(const Array&, const Array&)>
Outputs quantised_pair(const OperatorCall& call) {
  const Array y = f(dequantised(call[0], call[1], call.optional(2)), dequantised(call[3], call[4], call.optional(5)));
  const DType dtype = call[0].dtype();
  return {quantised(y, call[6], call.optional(7), dtype)};
}

Outputs quantised_one(const OperatorCall& call, Array (*f)(const OperatorCall&, const Array&)) {
  const Array y = f(call, dequantised(call[0], call[1], call.optional(2)));
  return {quantised(y, call[3], call.optional(4), call[0].dtype())};
}
Outputs quantised_sigmoid(const OperatorCall& call) {
  return quantised_one(call, [](const OperatorCall&, const Array& x) { return sigmoid(x); });
}
Outputs quantised_leaky_relu(const OperatorCall& call) {
  return quantised_one(call,
                       [](const OperatorCall& c, const Array& x) { return leaky_relu(x, c.number("alpha", 0.01)); });
}
Outputs quantised_global_mean(const OperatorCall& call) {
  const bool last = call.integer("channels_last", 0) != 0;
  const Array x = dequantised(call[0], call[1], call.optional(2));
  IntList axes;
  for (std::int64_t i = last ? 1 : 2; i < x.ndim() - (last ? 1 : 0); ++i) axes.push_back(i);
  return {quantised(mean(x, axes, true), call[3], call.optional(4), call[0].dtype())};
}
Outputs quantised_concat(const OperatorCall& call) {
  std::vector<Array> parts;
  for (std::size_t i = 2; i + 2 < call.input_count(); i += 3) {
    parts.push_back(dequantised(call[i], call[i + 1], call.optional(i + 2)));
  }
  return {quantised(concat(parts, call.integer("axis")), call[0], call[1], call[1].dtype())};
}

// The input is quantised on the way, by its own range, and the product is a floating-point number again.
Outputs product_quantised_on_the_way(const OperatorCall& call) {
  const Array& x = call[0];
  const Array low = minimum(min(x), 0.0), high = maximum(max(x), 0.0), span = (high - low) / 255.0;
  const Array scale = where(span == 0, 1.0, span);
  const Array zero = cast(clip(round(-low / scale), 0.0, 255.0), DType::u8);
  const Array small = dequantised(quantised(x, scale, zero, DType::u8), scale, zero);
  const Array y = matmul(small, dequantised(call[1], call[2], call.optional(3)));
  return {call.has(4) ? y + call[4] : y};
}
Outputs product_to_float(const OperatorCall& call) {
  const Array y =
      matmul(dequantised(call[0], call[2], call.optional(4)), dequantised(call[1], call[3], call.optional(5)));
  return {call.has(6) ? y + call[6] : y};
}

constexpr OperatorRow microsoft_table[] = {
    {"Attention", 1, attention_of_one},
    {"BiasGelu", 1, gelu_with_bias},
    {"DynamicQuantizeMatMul", 1, product_quantised_on_the_way},
    {"EmbedLayerNormalization", 1, embed_layer_norm},
    {"FastGelu", 1, fast_gelu},
    {"FusedConv", 1, fused_convolution},
    {"FusedGemm", 1, fused_general_product},
    {"FusedMatMul", 1, fused_product},
    {"Gelu", 1, gelu_with_bias},
    {"MatMulIntegerToFloat", 1, product_to_float},
    {"MultiHeadAttention", 1, attention_of_three},
    {"QLinearAdd", 1, quantised_pair<add>},
    {"QLinearConcat", 1, quantised_concat},
    {"QLinearGlobalAveragePool", 1, quantised_global_mean},
    {"QLinearLeakyRelu", 1, quantised_leaky_relu},
    {"QLinearMul", 1, quantised_pair<multiply>},
    {"QLinearSigmoid", 1, quantised_sigmoid},
    {"QuickGelu", 1, quick_gelu},
    {"SkipLayerNormalization", 1, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, skip_simplified_layer_norm},
};

}  // namespace

std::span<const OperatorRow> microsoft_rows() { return microsoft_table; }

}  // namespace tyto::onnx
