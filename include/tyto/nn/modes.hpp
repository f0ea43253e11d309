// SPDX-License-Identifier: MIT
// Tensors of a mode handed to code that serves both, its results handed back, and arithmetic between them.
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

/// A tensor that serves both modes, such as a gradient of `model.parameters()`, meets one of a mode: the result is of
/// that mode, and what is assigned to stays what it is.
#define TYTO_BESIDE_ANY(symbol)                                                                       \
  template <class M>                                                                                  \
  requires(!std::is_same_v<M, Any>) Tensor<M>                                                         \
  operator symbol(const Tensor<Any>& a, const Tensor<M>& b) { return Tensor<M>(a.value()) symbol b; } \
  template <class M>                                                                                  \
  requires(!std::is_same_v<M, Any>) Tensor<M>                                                         \
  operator symbol(const Tensor<M>& a, const Tensor<Any>& b) { return a symbol Tensor<M>(b.value()); }
#define TYTO_ASSIGNED_ANY(symbol)                                                                  \
  template <class M>                                                                               \
  requires(!std::is_same_v<M, Any>) Tensor<Any>                                                    \
  &operator symbol(Tensor<Any>& a, const Tensor<M>& b) { return a symbol Tensor<Any>(b.value()); } \
  template <class M>                                                                               \
  requires(!std::is_same_v<M, Any>) Tensor<M>                                                      \
  &operator symbol(Tensor<M>& a, const Tensor<Any>& b) { return a symbol Tensor<M>(b.value()); }
TYTO_BESIDE_ANY(+)
TYTO_BESIDE_ANY(-)
TYTO_BESIDE_ANY(*)
TYTO_BESIDE_ANY(/)
TYTO_BESIDE_ANY(==)
TYTO_BESIDE_ANY(!=)
TYTO_BESIDE_ANY(<)
TYTO_BESIDE_ANY(<=)
TYTO_BESIDE_ANY(>)
TYTO_BESIDE_ANY(>=)
TYTO_ASSIGNED_ANY(+=)
TYTO_ASSIGNED_ANY(-=)
TYTO_ASSIGNED_ANY(*=)
TYTO_ASSIGNED_ANY(/=)
#undef TYTO_BESIDE_ANY
#undef TYTO_ASSIGNED_ANY

}  // namespace tyto
