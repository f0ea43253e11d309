// SPDX-License-Identifier: MIT
// Activations with a parameter, made of element-wise operators.
#include "tyto/activations.hpp"

#include "ops/define.hpp"
#include "ops/planned.hpp"

namespace tyto TYTO_API {

template <class M>
Tensor<M> leaky_relu(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& slope) {
  core::require("leaky_relu", x, slope);
  if (const Value planned = core::planned(&leaky_relu<Any>, x, slope)) return planned;
  return where(greater(x, 0), x, slope * x);
}

template <class M>
Tensor<M> elu(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& alpha) {
  TYTO_ONCE(elu, x, alpha);
  core::require("elu", x, alpha);
  if (const Value planned = core::planned(&elu<Any>, x, alpha)) return planned;
  if (const auto found = core::in_f32(&elu<M>, x, alpha)) return *found;
  const Tensor<M> above = greater(x, 0);
  // The branch not chosen must not overflow: its gradient would be infinity times zero.
  return where(above, x, alpha * expm1(where(above, 0, x)));
}

TYTO_INSTANTIATE(leaky_relu)
TYTO_INSTANTIATE(elu)

}  // namespace TYTO_API
