// SPDX-License-Identifier: MIT
// Tensors of a mode handed to code that serves both, and its results handed back.
#pragma once

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
}  // namespace tyto
