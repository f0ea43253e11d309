// SPDX-License-Identifier: MIT
// Activations as formulas and as layers.
#include "tyto/nn/activations.hpp"

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace detail {

Tensor<Any> relu6(const Tensor<Any>& x) { return minimum(relu(x), 6.0); }

Tensor<Any> selu(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&selu, x)) return *found;
  constexpr double scale = 1.0507009873554804934, alpha = 1.6732632423543772848;
  return scale * elu(x, alpha);
}

Tensor<Any> celu(const Tensor<Any>& x, double alpha) {
  if (const auto found = core::in_f32(&celu, x, alpha)) return *found;
  return alpha * elu(x / alpha);
}

Tensor<Any> mish(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&mish, x)) return *found;
  return x * tanh(tyto::softplus(x));
}

Tensor<Any> gelu_tanh(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&gelu_tanh, x)) return *found;
  constexpr double root_two_over_pi = 0.79788456080286535588;
  return 0.5 * x * (1.0 + tanh(root_two_over_pi * (x + 0.044715 * x * x * x)));
}

Tensor<Any> hard_sigmoid(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&hard_sigmoid, x)) return *found;
  return relu6(x + 3.0) / 6.0;
}

Tensor<Any> hard_swish(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&hard_swish, x)) return *found;
  return x * hard_sigmoid(x);
}

Tensor<Any> hard_tanh(const Tensor<Any>& x, double low, double high) {
  if (!(low < high)) core::throw_error<ValueError>("hard_tanh: low = ", low, " must be below high = ", high);
  return minimum(maximum(x, low), high);
}

// These ask what is replaced, so that NaN stays.
Tensor<Any> hard_shrink(const Tensor<Any>& x, double limit) { return where(less_equal(abs(x), limit), 0.0, x); }

Tensor<Any> soft_shrink(const Tensor<Any>& x, double limit) {
  if (!(limit >= 0)) core::throw_error<ValueError>("soft_shrink: the limit ", limit, " must be at least 0");
  if (const auto found = core::in_f32(&soft_shrink, x, limit)) return *found;
  return relu(x - limit) - relu(-x - limit);
}

Tensor<Any> tanh_shrink(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&tanh_shrink, x)) return *found;
  return x - tanh(x);
}

Tensor<Any> threshold(const Tensor<Any>& x, double limit, double value) {
  return where(less_equal(x, limit), value, x);
}

Tensor<Any> softplus(const Tensor<Any>& x, double beta) {
  if (beta == 1) return tyto::softplus(x);
  if (const auto found = core::in_f32(&softplus, x, beta)) return *found;
  return tyto::softplus(beta * x) / beta;
}

Tensor<Any> softmin(const Tensor<Any>& x, std::int64_t axis) { return softmax(-x, axis); }

Tensor<Any> glu(const Tensor<Any>& x, std::int64_t axis) {
  if (const auto found = core::in_f32(&glu, x, axis)) return *found;
  const std::vector<Tensor<Any>> halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

}  // namespace detail

namespace {

using Argument = const Tensor<Any>&;

double positive(const char* layer, const char* name, double value) {
  if (!(value > 0)) core::throw_error<ValueError>(layer, ": ", name, " = ", value, " must be positive");
  return value;
}

}  // namespace

ReLU::ReLU() : Activation([](Argument x) { return relu(x); }) {}
ReLU6::ReLU6() : Activation(detail::relu6) {}
SELU::SELU() : Activation(detail::selu) {}
SiLU::SiLU() : Activation([](Argument x) { return silu(x); }) {}
Mish::Mish() : Activation(detail::mish) {}
Sigmoid::Sigmoid() : Activation([](Argument x) { return sigmoid(x); }) {}
LogSigmoid::LogSigmoid() : Activation([](Argument x) { return log_sigmoid(x); }) {}
Tanh::Tanh() : Activation([](Argument x) { return tanh(x); }) {}
Softsign::Softsign() : Activation([](Argument x) { return softsign(x); }) {}
Hardsigmoid::Hardsigmoid() : Activation(detail::hard_sigmoid) {}
Hardswish::Hardswish() : Activation(detail::hard_swish) {}
Tanhshrink::Tanhshrink() : Activation(detail::tanh_shrink) {}

LeakyReLU::LeakyReLU(double slope) : Activation([slope](Argument x) { return leaky_relu(x, slope); }) {}
ELU::ELU(double alpha) : Activation([alpha](Argument x) { return elu(x, alpha); }) {}
CELU::CELU(double alpha)
    : Activation([a = positive("CELU", "alpha", alpha)](Argument x) { return detail::celu(x, a); }) {}
GELU::GELU(GeluFormula formula)
    : Activation([formula](Argument x) { return formula == GeluFormula::tanh ? detail::gelu_tanh(x) : gelu(x); }) {}
Softplus::Softplus(double beta)
    : Activation([b = positive("Softplus", "beta", beta)](Argument x) { return detail::softplus(x, b); }) {}
Hardtanh::Hardtanh(double low, double high)
    : Activation([low, high](Argument x) { return detail::hard_tanh(x, low, high); }) {}
Hardshrink::Hardshrink(double limit) : Activation([limit](Argument x) { return detail::hard_shrink(x, limit); }) {}
Softshrink::Softshrink(double limit) : Activation([limit](Argument x) { return detail::soft_shrink(x, limit); }) {}
Threshold::Threshold(double limit, double value)
    : Activation([limit, value](Argument x) { return detail::threshold(x, limit, value); }) {}
Softmax::Softmax(std::int64_t axis) : Activation([axis](Argument x) { return softmax(x, axis); }) {}
LogSoftmax::LogSoftmax(std::int64_t axis) : Activation([axis](Argument x) { return log_softmax(x, axis); }) {}
Softmin::Softmin(std::int64_t axis) : Activation([axis](Argument x) { return detail::softmin(x, axis); }) {}
GLU::GLU(std::int64_t axis) : Activation([axis](Argument x) { return detail::glu(x, axis); }) {}

PReLU::PReLU(const PReLUOptions& options) {
  if (options.channels < 1)
    core::throw_error<ValueError>("PReLU: channels = ", options.channels, " must be at least 1");
  weight = Tensor<Any>::variable(Tensor<Any>::full({options.channels}, options.initial, options.dtype), "weight");
}

Tensor<Any> PReLU::forward(const Tensor<Any>& x, Phase) const {
  check_floating("PReLU", x);
  const std::int64_t channels = weight.shape()[0];
  if (channels != 1 && (x.ndim() < 1 || x.shape().back() != channels)) {
    core::throw_error<ShapeError>("PReLU: the last axis of x ", x.shape(), " must be of ", channels, " channels");
  }
  return leaky_relu(x, weight);
}

Members PReLU::members() const { return {{"weight", weight}}; }

RReLU::RReLU(const RReLUOptions& given) : options(given) {
  if (!(given.low <= given.high)) {
    core::throw_error<ValueError>("RReLU: low = ", given.low, " must not be above high = ", given.high);
  }
}

Tensor<Any> RReLU::forward(const Tensor<Any>& x, Phase phase) const {
  check_floating("RReLU", x);
  if (!is_training("RReLU", phase)) return leaky_relu(x, (options.low + options.high) / 2);
  return leaky_relu(x, Tensor<Any>::uniform(x.shape(), {.low = options.low, .high = options.high, .dtype = x.dtype()}));
}

}  // namespace nn
}  // namespace TYTO_API
