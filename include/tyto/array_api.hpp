// SPDX-License-Identifier: MIT
// Names of the Python array API standard for functions that stand elsewhere under NumPy's older names.
#pragma once

#include <cstdint>
#include <optional>

#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

/// As `left_shift`.
template <class M>
Tensor<M> bitwise_left_shift(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return left_shift(a, b);
}
/// As `right_shift`.
template <class M>
Tensor<M> bitwise_right_shift(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return right_shift(a, b);
}
/// As `bitwise_not`.
template <class M>
Tensor<M> bitwise_invert(const Tensor<M>& x) {
  return bitwise_not(x);
}
/// As `transpose`.
template <class M>
[[nodiscard]] Tensor<M> permute_dims(const Tensor<M>& x, const IntList& axes) {
  return transpose(x, axes);
}

/// cumsum and cumprod, which a vector needs no axis for, on request with the sum or product of nothing before them.
template <class M>
Tensor<M> cumulative_sum(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, Flag include_initial = false);
template <class M>
Tensor<M> cumulative_prod(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, Flag include_initial = false);

// Parts of unique_all, which says what they are.

/// The different values, ascending.
template <class M>
Tensor<M> unique_values(const Tensor<M>& x) {
  return unique(x);
}
/// Result of `unique_counts`.
template <class M>
struct UniqueCounts {
  Tensor<M> values, counts;  ///< the different values, and how often each occurs
};
/// The different values, ascending, and how often each occurs.
template <class M>
UniqueCounts<M> unique_counts(const Tensor<M>& x) {
  const Unique<M> found = unique_all(x);
  return {found.values, found.counts};
}
/// Result of `unique_inverse`.
template <class M>
struct UniqueInverse {
  Tensor<M> values, inverse;  ///< the different values, and which of them each element is
};
/// The different values, ascending, and which of them each element is.
template <class M>
UniqueInverse<M> unique_inverse(const Tensor<M>& x) {
  const Unique<M> found = unique_all(x);
  return {found.values, found.inverse};
}

}  // namespace TYTO_API
