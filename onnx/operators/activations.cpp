// SPDX-License-Identifier: MIT
// Activation functions, each as an expression of Tyto's own.
#include "tyto/activations.hpp"

#include "onnx/operators/activation.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

Array hard_sigmoid(const Array& x, double alpha, double beta) { return clip(x * alpha + beta, 0.0, 1.0); }
Array thresholded_relu(const Array& x, double alpha) { return where(greater(x, alpha), x, 0.0); }
Array gelu_by_tanh(const Array& x) {
  constexpr double root = 0.7978845608028654;  // sqrt(2 / pi)
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * root) + 1.0);
}

namespace {

Outputs plain(const OperatorCall& call) { return {call.function().unary(call[0])}; }

Outputs celu(const OperatorCall& call) {
  const double alpha = call.number("alpha", 1);
  const Array& x = call[0];
  return {maximum(x, 0.0) + minimum(expm1(x / alpha) * alpha, 0.0)};
}

Outputs exponential_linear(const OperatorCall& call) { return {elu(call[0], call.number("alpha", 1))}; }

Outputs gaussian_linear(const OperatorCall& call) {
  const std::string_view how = call.text("approximate", "none");
  if (how == "none") return {gelu(call[0])};
  if (how == "tanh") return {gelu_by_tanh(call[0])};
  call.refuse("approximate '", how, "'; known are none and tanh");
}

Outputs hard_sigmoid_rule(const OperatorCall& call) {
  return {hard_sigmoid(call[0], call.number("alpha", 0.2), call.number("beta", 0.5))};
}

Outputs hard_swish(const OperatorCall& call) { return {call[0] * hard_sigmoid(call[0], 1.0 / 6, 0.5)}; }

Outputs leaky(const OperatorCall& call) { return {leaky_relu(call[0], call.number("alpha", 0.01))}; }

Outputs mish(const OperatorCall& call) { return {call[0] * tanh(softplus(call[0]))}; }

Outputs parametric(const OperatorCall& call) { return {leaky_relu(call[0], call[1])}; }

Outputs scaled(const OperatorCall& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625),
               gamma = call.number("gamma", 1.05070102214813232421875);
  return {elu(call[0], alpha) * gamma};
}

Outputs shrink(const OperatorCall& call) {
  const double bias = call.number("bias", 0), lambd = call.number("lambd", 0.5);
  const Array& x = call[0];
  const Array y = where(less(x, -lambd), x + bias, where(greater(x, lambd), x - bias, 0.0));
  return {cast(y, x.dtype())};
}

Outputs swish(const OperatorCall& call) {
  const double alpha = call.number("alpha", 1);
  return {alpha == 1 ? silu(call[0]) : call[0] * sigmoid(call[0] * alpha)};
}

Outputs gated_swish(const OperatorCall& call) {
  const double alpha = call.number("alpha", 1);
  return {call[0] * sigmoid(call[0] * alpha) * call[1]};
}

Outputs thresholded(const OperatorCall& call) { return {thresholded_relu(call[0], call.number("alpha", 1))}; }

// Up to version 12 all axes from `axis` on count as one.
Outputs over_matrix(const OperatorCall& call) {
  const Array& x = call[0];
  std::int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += x.ndim();
  if (axis < 0 || axis > x.ndim()) call.refuse("axis ", axis, " of shape ", x.shape());
  std::int64_t rows = 1, columns = 1;
  for (int i = 0; i < x.ndim(); ++i) (i < axis ? rows : columns) *= axis_length(x, static_cast<std::size_t>(i));
  return {reshape(call.function().along_axis(reshape(x, {rows, columns}), 1), x.shape())};
}
Outputs over_axis(const OperatorCall& call) { return {call.function().along_axis(call[0], call.integer("axis", -1))}; }

Array hardmax(const Array& x, std::int64_t axis) {
  const Array place = argmax(x, axis, true);
  Shape along(static_cast<std::size_t>(x.ndim()), 1);
  const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis);
  along[at] = axis_length(x, at);
  return cast(place == reshape(Array::arange(axis_length(x, at)), along), x.dtype());
}

constexpr OperatorRow activation_table[] = {
    {"Celu", 12, celu},
    {"Elu", 6, exponential_linear},
    {"Gelu", 20, gaussian_linear},
    {"HardSigmoid", 6, hard_sigmoid_rule},
    {"HardSwish", 14, hard_swish},
    {"Hardmax", 1, over_matrix, hardmax},
    {"Hardmax", 13, over_axis, hardmax},
    {"LeakyRelu", 6, leaky},
    {"LogSoftmax", 1, over_matrix, log_softmax},
    {"LogSoftmax", 13, over_axis, log_softmax},
    {"Mish", 18, mish},
    {"PRelu", 7, parametric},
    {"Relu", 6, plain, relu},
    {"Selu", 6, scaled},
    {"Shrink", 9, shrink},
    {"Sigmoid", 6, plain, sigmoid},
    {"Softmax", 1, over_matrix, softmax},
    {"Softmax", 13, over_axis, softmax},
    {"Softplus", 1, plain, softplus},
    {"Softsign", 1, plain, softsign},
    {"SwiGLU", 28, gated_swish},
    {"Swish", 24, swish},
    {"ThresholdedRelu", 10, thresholded},
};

}  // namespace

std::span<const OperatorRow> activation_rows() { return activation_table; }

}  // namespace tyto::onnx
