// SPDX-License-Identifier: MIT
// Vectors as sets: distinct elements with where they come from, membership, and what two sets have in common.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Options of `unique_all`.
struct UniqueOptions {
  std::optional<std::int64_t> axis = {};  ///< slices along it are compared; left out: single elements
  std::optional<std::int64_t> size = {};  ///< of the result, which then has a fixed shape and works in both modes
};

/// Result of `unique`.
template <class M>
struct Unique {
  Tensor<M> values;   ///< ascending; NaN, if there is one, last
  Tensor<M> indices;  ///< where each occurs first
  Tensor<M> inverse;  ///< which value each element of x is, in x's shape (of slices: a vector)
  Tensor<M> counts;   ///< how often each occurs
};

/// The distinct elements, with first positions, inverse and counts. Without a `size` in eager mode only, since the
/// shape depends on the data. With one, places beyond the distinct elements hold the first of them, counted 0 times;
/// values beyond the size are left out.
template <class M>
Unique<M> unique_all(const Tensor<M>& x, const UniqueOptions& options = {});
/// The distinct elements in ascending order; see unique_all.
template <class M>
[[nodiscard]] Tensor<M> unique(const Tensor<M>& x, const UniqueOptions& options = {});

/// Where elements of x are among those of `set`, or are not.
template <class M>
Tensor<M> isin(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& set, Flag invert = false);

// The shapes of these depend on the data: eager mode only.

/// Elements of a or of b, ascending.
template <class M>
Tensor<M> union1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Elements of both a and b.
template <class M>
Tensor<M> intersect1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Elements of a that are not in b.
template <class M>
Tensor<M> setdiff1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Elements of exactly one of a and b.
template <class M>
Tensor<M> setxor1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// Coordinates of non-zero elements, (count, rank).
template <class M>
Tensor<M> nonzero(const Tensor<M>& x);
/// Positions of non-zero elements of the flattened tensor.
template <class M>
Tensor<M> flatnonzero(const Tensor<M>& x);
/// Elements of the flattened tensor where the flattened condition holds.
template <class M>
[[nodiscard]] Tensor<M> extract(const Tensor<M>& condition, const std::type_identity_t<Tensor<M>>& x);
/// Slices along `axis` where the condition, a vector that may be shorter, holds; of the flattened tensor without one.
template <class M>
Tensor<M> compress(const Tensor<M>& condition, const std::type_identity_t<Tensor<M>>& x,
                   std::optional<std::int64_t> axis = {});
/// A vector without the zeros at its ends.
template <class M>
[[nodiscard]] Tensor<M> trim_zeros(const Tensor<M>& x);

}  // namespace TYTO_API
