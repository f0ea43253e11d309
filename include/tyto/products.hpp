// SPDX-License-Identifier: MIT
// Products of matrices and tensors.
#pragma once

#include <string_view>
#include <type_traits>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Matrix product over the last two axes, the others broadcast; vectors count as row or column, as in NumPy.
template <class M>
Tensor<M> matmul(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Products of matrices with vectors along the last axis, the other axes broadcast: a x.
template <class M>
Tensor<M> matvec(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& x);
/// Products of the conjugates of vectors along the last axis with matrices: x^H a.
template <class M>
Tensor<M> vecmat(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& a);
/// NumPy's dot: inner product of vectors, matrix product of matrices, sum over a's last and b's second to last axis.
template <class M>
Tensor<M> dot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Every element of a times every element of b.
template <class M>
Tensor<M> outer(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Kronecker product.
template <class M>
Tensor<M> kron(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Sum of products over the last `axes` axes of a and the first of b.
template <class M>
Tensor<M> tensordot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axes = 2);
/// Sum of products over the paired axes.
template <class M>
Tensor<M> tensordot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const IntList& a_axes,
                    const IntList& b_axes);
/// Einstein summation: einsum("bij,bjk->bik", a, b), or of a list; "..." matches axes that broadcast.
template <class M>
Tensor<M> einsum(std::string_view equation, const std::vector<Tensor<M>>& operands);
template <class M>
Tensor<M> einsum(std::string_view equation, std::initializer_list<Tensor<M>> operands) {
  return einsum(equation, std::vector<Tensor<M>>(operands));
}
template <class M, class... N>
Tensor<M> einsum(std::string_view equation, const Tensor<M>& first, const Tensor<N>&... others) {
  static_assert((std::is_same_v<M, N> && ...), "operands of einsum are of one mode; Tensor(x) makes one of another");
  return einsum(equation, std::vector<Tensor<M>>{first, Tensor<M>(others.value())...});
}

}  // namespace TYTO_API
