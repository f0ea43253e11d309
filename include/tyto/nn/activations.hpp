// SPDX-License-Identifier: MIT
// Activations: the functions that are no element-wise operators, and each as a layer.
#pragma once

#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/reduce.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {
Tensor<Any> relu6(const Tensor<Any>& x);
Tensor<Any> selu(const Tensor<Any>& x);
Tensor<Any> celu(const Tensor<Any>& x, double alpha);
Tensor<Any> mish(const Tensor<Any>& x);
Tensor<Any> gelu_tanh(const Tensor<Any>& x);
Tensor<Any> hard_sigmoid(const Tensor<Any>& x);
Tensor<Any> hard_swish(const Tensor<Any>& x);
Tensor<Any> hard_tanh(const Tensor<Any>& x, double low, double high);
Tensor<Any> hard_shrink(const Tensor<Any>& x, double limit);
Tensor<Any> soft_shrink(const Tensor<Any>& x, double limit);
Tensor<Any> tanh_shrink(const Tensor<Any>& x);
Tensor<Any> threshold(const Tensor<Any>& x, double limit, double value);
Tensor<Any> softplus(const Tensor<Any>& x, double beta);
Tensor<Any> softmin(const Tensor<Any>& x, std::int64_t axis);
Tensor<Any> glu(const Tensor<Any>& x, std::int64_t axis);

template <class M, class F, class... Options>
Tensor<M> in_mode(F function, const Tensor<M>& x, const Options&... options) {
  return with_mode<M>(function(modeless(x), options...));
}
}  // namespace detail

// The element-wise operators among them, by PyTorch's names too.
using tyto::elu, tyto::gelu, tyto::leaky_relu, tyto::log_softmax, tyto::relu, tyto::sigmoid, tyto::silu, tyto::softmax,
    tyto::softsign, tyto::tanh;

/// relu(x), at most 6.
template <class M>
Tensor<M> relu6(const Tensor<M>& x) {
  return detail::in_mode(detail::relu6, x);
}
/// elu with the scale and slope that keep mean 0 and variance 1 (Klambauer et al. 2017).
template <class M>
Tensor<M> selu(const Tensor<M>& x) {
  return detail::in_mode(detail::selu, x);
}
/// x where it is above 0, else alpha * (exp(x / alpha) - 1).
template <class M>
Tensor<M> celu(const Tensor<M>& x, double alpha = 1) {
  return detail::in_mode(detail::celu, x, alpha);
}
/// x * tanh(softplus(x)).
template <class M>
Tensor<M> mish(const Tensor<M>& x) {
  return detail::in_mode(detail::mish, x);
}
/// gelu by the formula with tanh, as GPT-2 and BERT's first code have it.
template <class M>
Tensor<M> gelu_tanh(const Tensor<M>& x) {
  return detail::in_mode(detail::gelu_tanh, x);
}
/// x / 6 + 1/2, within 0 and 1.
template <class M>
Tensor<M> hard_sigmoid(const Tensor<M>& x) {
  return detail::in_mode(detail::hard_sigmoid, x);
}
/// x * hard_sigmoid(x).
template <class M>
Tensor<M> hard_swish(const Tensor<M>& x) {
  return detail::in_mode(detail::hard_swish, x);
}
/// x within low and high.
template <class M>
Tensor<M> hard_tanh(const Tensor<M>& x, double low = -1, double high = 1) {
  return detail::in_mode(detail::hard_tanh, x, low, high);
}
/// x where it is further than `limit` from 0, else 0.
template <class M>
Tensor<M> hard_shrink(const Tensor<M>& x, double limit = 0.5) {
  return detail::in_mode(detail::hard_shrink, x, limit);
}
/// x moved towards 0 by `limit`, no further than 0.
template <class M>
Tensor<M> soft_shrink(const Tensor<M>& x, double limit = 0.5) {
  return detail::in_mode(detail::soft_shrink, x, limit);
}
/// x - tanh(x).
template <class M>
Tensor<M> tanh_shrink(const Tensor<M>& x) {
  return detail::in_mode(detail::tanh_shrink, x);
}
/// x where it is above `limit`, else `value`.
template <class M>
Tensor<M> threshold(const Tensor<M>& x, double limit, double value) {
  return detail::in_mode(detail::threshold, x, limit, value);
}
/// softmax of -x.
template <class M>
Tensor<M> softmin(const Tensor<M>& x, std::int64_t axis = -1) {
  return detail::in_mode(detail::softmin, x, axis);
}
/// The first half of an axis times the sigmoid of the second.
template <class M>
Tensor<M> glu(const Tensor<M>& x, std::int64_t axis = -1) {
  return detail::in_mode(detail::glu, x, axis);
}

/// A function of a tensor as a layer: what the layers below are.
struct TYTO_API Activation : Layer {
  std::function<Tensor<Any>(const Tensor<Any>&)> function;  ///< what is applied

  Tensor<Any> forward(const Tensor<Any>& x, Phase) const override { return function(x); }

 protected:
  explicit Activation(std::function<Tensor<Any>(const Tensor<Any>&)> f) : function(std::move(f)) {}
};

// Without parameters.
/// max(x, 0).
struct TYTO_API ReLU : Activation {
  ReLU();
};
/// min(max(x, 0), 6).
struct TYTO_API ReLU6 : Activation {
  ReLU6();
};
/// A scaled ELU that keeps mean 0 and variance 1 (Klambauer et al. 2017).
struct TYTO_API SELU : Activation {
  SELU();
};
/// x sigmoid(x).
struct TYTO_API SiLU : Activation {
  SiLU();
};
/// x tanh(softplus(x)).
struct TYTO_API Mish : Activation {
  Mish();
};
/// 1 / (1 + exp(-x)).
struct TYTO_API Sigmoid : Activation {
  Sigmoid();
};
/// log(sigmoid(x)).
struct TYTO_API LogSigmoid : Activation {
  LogSigmoid();
};
/// tanh(x).
struct TYTO_API Tanh : Activation {
  Tanh();
};
/// x / (1 + |x|).
struct TYTO_API Softsign : Activation {
  Softsign();
};
/// A sigmoid of straight lines.
struct TYTO_API Hardsigmoid : Activation {
  Hardsigmoid();
};
/// x times Hardsigmoid of x.
struct TYTO_API Hardswish : Activation {
  Hardswish();
};
/// x - tanh(x).
struct TYTO_API Tanhshrink : Activation {
  Tanhshrink();
};

// With numbers that are not trained.
/// x where it is positive, `slope` times x elsewhere.
struct TYTO_API LeakyReLU : Activation {
  explicit LeakyReLU(double slope = 0.01);
};
/// x where it is positive, alpha (exp(x) - 1) elsewhere.
struct TYTO_API ELU : Activation {
  explicit ELU(double alpha = 1);
};
/// x where it is positive, alpha (exp(x / alpha) - 1) elsewhere.
struct TYTO_API CELU : Activation {
  explicit CELU(double alpha = 1);
};
/// How gelu is computed: by the error function, or by tanh.
enum class GeluFormula : std::uint8_t { erf, tanh };
/// x times the probability that a standard normal is below x.
struct TYTO_API GELU : Activation {
  explicit GELU(GeluFormula formula = GeluFormula::erf);
};
/// log(1 + exp(beta x)) / beta.
struct TYTO_API Softplus : Activation {
  explicit Softplus(double beta = 1);
};
/// x clipped to [low, high].
struct TYTO_API Hardtanh : Activation {
  explicit Hardtanh(double low = -1, double high = 1);
};
/// x where it is farther than `limit` from 0, 0 elsewhere.
struct TYTO_API Hardshrink : Activation {
  explicit Hardshrink(double limit = 0.5);
};
/// x moved towards 0 by `limit`, 0 where it would pass it.
struct TYTO_API Softshrink : Activation {
  explicit Softshrink(double limit = 0.5);
};
/// x where it is above `limit`, `value` elsewhere.
struct TYTO_API Threshold : Activation {
  Threshold(double limit, double value);
};
/// exp(x) over its sum along an axis.
struct TYTO_API Softmax : Activation {
  explicit Softmax(std::int64_t axis = -1);
};
/// The logarithm of softmax.
struct TYTO_API LogSoftmax : Activation {
  explicit LogSoftmax(std::int64_t axis = -1);
};
/// softmax(-x).
struct TYTO_API Softmin : Activation {
  explicit Softmin(std::int64_t axis = -1);
};
/// The first half of an axis times the sigmoid of the second.
struct TYTO_API GLU : Activation {
  explicit GLU(std::int64_t axis = -1);
};

/// Options of `PReLU`.
struct PReLUOptions {
  std::int64_t channels = 1;  ///< slopes: one for all, or one for each channel
  double initial = 0.25;      ///< slope to start with
  DType dtype = DType::f32;   ///< element type
};
/// leaky_relu with trained slopes, along the last axis.
struct TYTO_API PReLU : Layer {
  Tensor<Any> weight;  ///< the slopes

  explicit PReLU(const PReLUOptions& options = {});
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

/// Options of `RReLU`.
struct RReLUOptions {
  double low = 1.0 / 8;   ///< the smallest slope drawn
  double high = 1.0 / 3;  ///< the largest slope drawn
};
/// leaky_relu with slopes drawn between low and high in training, and their mean otherwise.
struct TYTO_API RReLU : Layer {
  RReLUOptions options;  ///< as given

  explicit RReLU(const RReLUOptions& given = {});
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

}  // namespace TYTO_API
}  // namespace tyto
