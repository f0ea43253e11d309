// SPDX-License-Identifier: MIT
// Linear and bilinear layers.
#include "tyto/nn/linear.hpp"

#include "nn/layer_parts.hpp"
#include "nn/running_call.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/products.hpp"

namespace tyto TYTO_API {
namespace nn {

Linear::Linear(const LinearOptions& options) {
  check_sizes("Linear", options.in, options.out);
  const Fans fans{static_cast<double>(options.in), static_cast<double>(options.out)};
  weight = weight_parameter("weight", options.initial, {options.in, options.out}, fans, options.dtype);
  if (options.bias) bias = zero_parameter("bias", {options.out}, options.dtype);
}

Tensor<Any> Linear::forward(const Tensor<Any>& x, Phase) const {
  if (x.ndim() < 1 || x.shape().back() != weight.shape()[0]) {
    const bool flat = x.ndim() > 2 && element_count(x.shape()) == x.shape()[0] * weight.shape()[0];
    core::throw_error<ShapeError>("Linear: the last axis of x ", x.shape(), " must be ", weight.shape()[0],
                                  flat ? "; nn::Flatten() before it joins all axes but the first" : "");
  }
  const Tensor<Any> product = matmul(to_multiply(x), to_multiply(weight));
  return !bias.defined() ? product : product + to_multiply(bias);
}

Members Linear::members() const { return {{"weight", weight, StateKind::parameter, {1, 0}}, {"bias", bias}}; }

Bilinear::Bilinear(const BilinearOptions& options) {
  if (options.left < 1 || options.right < 1 || options.out < 1) {
    core::throw_error<ValueError>("Bilinear: left = ", options.left, ", right = ", options.right,
                                  " and out = ", options.out, " must be at least 1");
  }
  const Fans fans{static_cast<double>(options.left), static_cast<double>(options.out)};
  const Shape shape{options.out, options.left, options.right};
  weight = weight_parameter("weight", options.initial, shape, fans, options.dtype);
  if (options.bias) bias = zero_parameter("bias", {options.out}, options.dtype);
}

Tensor<Any> Bilinear::product(const Tensor<Any>& a, const Tensor<Any>& b) const {
  return LayerCall(*this, detail::phase_around()).run([&]() -> Tensor<Any> {
    const std::int64_t left = weight.shape()[1], right = weight.shape()[2];
    if (a.ndim() < 1 || a.ndim() != b.ndim() || a.shape().back() != left || b.shape().back() != right) {
      core::throw_error<ShapeError>("Bilinear: the last axes of ", a.shape(), " and ", b.shape(), " must be ", left,
                                    " and ", right, ", the others equal");
    }
    const Tensor<Any> y =
        einsum("...i,kij,...j->...k", std::vector<Tensor<Any>>{to_multiply(a), to_multiply(weight), to_multiply(b)});
    return !bias.defined() ? y : y + to_multiply(bias);
  });
}

Members Bilinear::members() const { return {{"weight", weight}, {"bias", bias}}; }

}  // namespace nn
}  // namespace TYTO_API
