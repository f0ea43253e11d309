// SPDX-License-Identifier: MIT
// Choices by number and by condition, elements put by index, sorting by several keys, and positions as numbers.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// At each position the element of the choice with the number found there; all broadcast together. Numbers must lie in
/// [0, count).
template <class M>
[[nodiscard]] Tensor<M> choose(const Tensor<M>& numbers, const std::vector<Tensor<M>>& choices);
/// At each place the element that goes with the first condition that holds, else `otherwise`.
template <class M>
Tensor<M> select(const std::vector<Tensor<M>>& conditions, const std::vector<Tensor<M>>& choices,
                 const std::type_identity_t<Tensor<M>>& otherwise = 0);

/// x with one element per index along `axis` replaced; the counterpart of take_along_axis.
template <class M>
[[nodiscard]] Tensor<M> put_along_axis(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices,
                                       const std::type_identity_t<Tensor<M>>& values, std::int64_t axis);
/// x with elements of the flattened tensor replaced; values are repeated as needed.
template <class M>
[[nodiscard]] Tensor<M> put(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices,
                            const std::type_identity_t<Tensor<M>>& values);

/// The order that sorts by the last key, then by the one before it, ...: keys of one shape, along the last axis.
template <class M>
Tensor<M> lexsort(const std::vector<Tensor<M>>& keys);
template <class M>
Tensor<M> lexsort(std::initializer_list<Tensor<M>> keys) {
  return lexsort(std::vector<Tensor<M>>(keys));
}
/// Element `kth` where a sort would put it, none larger before and none smaller behind it.
template <class M>
[[nodiscard]] Tensor<M> partition(const Tensor<M>& x, std::int64_t kth, std::int64_t axis = -1);
/// The order that partitions.
template <class M>
Tensor<M> argpartition(const Tensor<M>& x, std::int64_t kth, std::int64_t axis = -1);

/// Coordinates in a shape of positions in the flattened tensor, one tensor an axis. A position outside of the shape is
/// an IndexError.
template <class M>
std::vector<Tensor<M>> unravel_index(const Tensor<M>& positions, const Shape& shape);
/// Positions in the flattened tensor of coordinates in a shape, those outside of it an IndexError.
template <class M>
Tensor<M> ravel_multi_index(const std::vector<Tensor<M>>& coordinates, const Shape& shape);

}  // namespace TYTO_API
