// SPDX-License-Identifier: MIT
// The element-wise functions: one declaration each, expanded from the operator list (see docs/operators.md).
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

// For each line of ops/elementwise.def: `name(x)`, `name(a, b)` (either operand may be a number), `name(a, b, c)`.
#define TYTO_UNARY(name) \
  template <class M>     \
  [[nodiscard]] Tensor<M> name(const Tensor<M>& x);
#define TYTO_BINARY(name)                                                                     \
  template <class M>                                                                          \
  [[nodiscard]] Tensor<M> name(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b); \
  template <class M>                                                                          \
  [[nodiscard]] Tensor<M> name(const Scalar& a, const Tensor<M>& b) {                         \
    return name(Tensor<M>(a), b);                                                             \
  }
#define TYTO_TERNARY(name)                                                                   \
  template <class M>                                                                         \
  [[nodiscard]] Tensor<M> name(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, \
                               const std::type_identity_t<Tensor<M>>& c);
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY

template <std::same_as<bool> B, class M>
Tensor<M> where(B, const Tensor<M>&, const detail::Anything&) = delete;  // condition ? a : b

}  // namespace TYTO_API
