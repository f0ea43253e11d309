// SPDX-License-Identifier: MIT
// Activations with a parameter; those without (relu, gelu, silu, softplus, ...) are element-wise functions.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// x where it is above 0, else slope * x. The slope may be a tensor and is differentiated as well.
template <class M>
Tensor<M> leaky_relu(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& slope = 0.01);
/// x where it is above 0, else alpha * (exp(x) - 1).
template <class M>
Tensor<M> elu(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& alpha = 1.0);

}  // namespace TYTO_API
