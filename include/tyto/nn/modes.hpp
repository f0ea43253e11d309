// SPDX-License-Identifier: MIT
// Converts tensors of one mode to those of both and back, and assigns between them.
#pragma once

#include <type_traits>

#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {
namespace detail {

template <class M>
Tensor<Any> modeless(const Tensor<M>& x) {
  return Tensor<Any>(x.value());
}
template <class M>
Tensor<M> with_mode(const Tensor<Any>& x) {
  return Tensor<M>(x.value());
}

}  // namespace detail
}  // namespace TYTO_API

/// The left-hand side of an assignment keeps its mode.
#define TYTO_ASSIGNED_ANY(symbol)                                                                  \
  template <class M>                                                                               \
  requires(!std::is_same_v<M, Any>) Tensor<Any>                                                    \
  &operator symbol(Tensor<Any>& a, const Tensor<M>& b) { return a symbol Tensor<Any>(b.value()); } \
  template <class M>                                                                               \
  requires(!std::is_same_v<M, Any>) Tensor<M>                                                      \
  &operator symbol(Tensor<M>& a, const Tensor<Any>& b) { return a symbol Tensor<M>(b.value()); }
TYTO_ASSIGNED_ANY(+=)
TYTO_ASSIGNED_ANY(-=)
TYTO_ASSIGNED_ANY(*=)
TYTO_ASSIGNED_ANY(/=)
#undef TYTO_ASSIGNED_ANY

}  // namespace tyto
