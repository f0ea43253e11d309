// SPDX-License-Identifier: MIT
// Operators of ONNX Runtime's own domain: products, norms and activations that its optimiser joins.
#include "onnx/operators/activation.hpp"
#include "onnx/operators/convolutions.hpp"
#include "onnx/operators/normalisation.hpp"
#include "onnx/operators/products.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs gelu_with_bias(const OperatorCall& call) { return {gelu(call.has(1) ? call[0] + call[1] : call[0])}; }
Outputs fast_gelu(const OperatorCall& call) { return {gelu_by_tanh(call.has(1) ? call[0] + call[1] : call[0])}; }
Outputs quick_gelu(const OperatorCall& call) { return {call[0] * sigmoid(call[0] * call.number("alpha", 1.702))}; }

// An activation by name with its parameters in a list.
Array activated(const OperatorCall& call, const Array& x) {
  const std::string_view name = call.text("activation", "");
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
  const Array y = convolved(call, call[0], call[1], call.optional(2));
  return {activated(call, call.has(3) ? y + call[3] : y)};
}

Outputs fused_product(const OperatorCall& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0)
    call.refuse("transBatchA and transBatchB");
  return {general_product(call)};
}

Outputs fused_general_product(const OperatorCall& call) { return {activated(call, general_product(call))}; }

// Inputs: x, what skipped a layer, factors, offsets, bias. The sum is an output too.
Outputs skip_layer_norm(const OperatorCall& call) {
  Array total = halves_in_f32(call[0]) + call[1];
  if (call.has(4)) total = total + call[4];
  const Normalised n = normalised(total, -1, call.number("epsilon", 1e-12));
  Array y = n.result * call[2];
  if (call.has(3)) y = y + call[3];
  const DType type = call[0].dtype();
  return {cast(y, type), n.mean, n.inverse_deviation, cast(total, type)};
}
Outputs skip_simplified_layer_norm(const OperatorCall& call) {
  Array total = halves_in_f32(call[0]) + call[1];
  if (call.has(3)) total = total + call[3];
  const DType type = call[0].dtype();
  const Array y = cast(root_mean_square_normalised(total, -1, call.number("epsilon", 1e-12)) * call[2], type);
  return {y, y, y, cast(total, type)};
}

// Word, place and segment vectors added up and normalised.
Outputs embed_layer_norm(const OperatorCall& call) {
  const Array& words = call[0];
  call.ignore("mask_index_type");
  const std::int64_t length = axis_length(words, 1);
  const Array places = call.has(8) ? call[8] : Array::arange(length);
  Array total = halves_in_f32(take(call[2], words, 0)) + take(call[3], places, 0);
  if (call.has(4)) total = total + take(call[4], call[1], 0);
  const DType type = call[2].dtype();
  const Array y = cast(normalised(total, -1, call.number("epsilon", 1e-12)).result * call[5] + call[6], type);
  const Array counts =
      call.has(7) ? cast(sum(call[7], 1), DType::i32) : Array::zeros({axis_length(words, 0)}, DType::i32);
  return {y, counts, cast(total, type)};
}

constexpr OperatorRow microsoft_table[] = {
    {"BiasGelu", 1, gelu_with_bias},
    {"EmbedLayerNormalization", 1, embed_layer_norm},
    {"FastGelu", 1, fast_gelu},
    {"FusedConv", 1, fused_convolution},
    {"FusedGemm", 1, fused_general_product},
    {"FusedMatMul", 1, fused_product},
    {"Gelu", 1, gelu_with_bias},
    {"QuickGelu", 1, quick_gelu},
    {"SkipLayerNormalization", 1, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, skip_simplified_layer_norm},
    {"TransposeMatMul", 1, fused_product},
};

}  // namespace

std::span<const OperatorRow> microsoft_rows() { return microsoft_table; }

}  // namespace tyto::onnx
