// SPDX-License-Identifier: MIT
// Gathering, scattering and sorting by index tensors. Indices are i32 or i64; negative ones count from the end.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Slices of x at `indices` along `axis`; of the flattened tensor without one.
template <class M>
Tensor<M> take(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices,
               std::optional<std::int64_t> axis = {});
/// One element per index along `axis`, the other axes matched up.
template <class M>
Tensor<M> take_along_axis(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices, std::int64_t axis);
/// Elements (or slices) at coordinates: one index tensor for each of the first axes, broadcast together.
template <class M>
Tensor<M> gather(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates);
/// x with the elements at coordinates replaced; where coordinates repeat, the last one in row-major order stays.
template <class M>
[[nodiscard]] Tensor<M> scatter(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                                const std::type_identity_t<Tensor<M>>& values);
/// x with values added at coordinates, repeated ones adding up.
template <class M>
[[nodiscard]] Tensor<M> scatter_add(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                                    const std::type_identity_t<Tensor<M>>& values);
/// x with the elements at coordinates multiplied by values, repeated ones multiplying up.
template <class M>
[[nodiscard]] Tensor<M> scatter_multiply(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                                         const std::type_identity_t<Tensor<M>>& values);
/// x with the elements at coordinates replaced by values where those are smaller; NaN if either is. Ties share the
/// gradient.
template <class M>
[[nodiscard]] Tensor<M> scatter_min(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                                    const std::type_identity_t<Tensor<M>>& values);
/// x with the elements at coordinates replaced by values where those are larger; NaN if either is. Ties share the
/// gradient.
template <class M>
[[nodiscard]] Tensor<M> scatter_max(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                                    const std::type_identity_t<Tensor<M>>& values);
/// Rows of ones at the class and zeros elsewhere; classes outside [0, depth) give zeros.
template <class M>
Tensor<M> one_hot(const Tensor<M>& classes, std::int64_t depth, DType dtype = DType::f32);

/// The range [low, high] that check_bounds holds integers to, and the words of its error: with a caller "my_loss", a
/// subject "label" and a range "classes" it reads "my_loss: label 7 is out of range; the classes are 0 to 4".
struct IntegerBounds {
  std::int64_t low = 0;                 ///< the smallest index allowed
  std::int64_t high = 0;                ///< the largest index allowed
  std::string caller = "check_bounds";  ///< who asks, for the message
  std::string subject = "value";        ///< what the index is called in the message
  std::string range = "values";  ///< what the range is called in the message; "": a ValueError "caller: value subject"
};
/// Integers as they are, for functions and layers that take labels, indices or lengths: IndexError in the words of
/// `bounds` where one is out of range, in eager mode at once, else when what is made of them runs.
template <class M>
Tensor<M> check_bounds(const Tensor<M>& x, const IntegerBounds& bounds);

/// In ascending order along `axis`, stable, NaN last.
template <class M>
[[nodiscard]] Tensor<M> sort(const Tensor<M>& x, Axis axis = -1, Flag descending = false);
/// The order that sorts.
template <class M>
[[nodiscard]] Tensor<M> argsort(const Tensor<M>& x, Axis axis = -1, Flag descending = false);
/// Result of `topk`.
template <class M>
struct TopK {
  Tensor<M> values;   ///< the largest or smallest, best first
  Tensor<M> indices;  ///< where they stand
};
/// The k largest (or smallest) along `axis`, best first, and where they stand.
template <class M>
TopK<M> topk(const Tensor<M>& x, std::int64_t k, Axis axis = -1, Flag largest = true);
/// Where each value would be inserted into the ascending vector `sorted`: before equals, or behind them.
template <class M>
Tensor<M> searchsorted(const Tensor<M>& sorted, const std::type_identity_t<Tensor<M>>& values, Flag right = false);
/// Counts of x's elements between ascending edges; the last bin includes its upper edge.
template <class M>
Tensor<M> histogram(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges);
/// `count` elements of the first axis drawn at random, with or without putting back, by weights if given.
template <class M>
Tensor<M> choice(const Tensor<M>& x, std::int64_t count, Flag replace = true,
                 const std::type_identity_t<Tensor<M>>& weights = {}, const DrawOptions& options = {});
/// Class numbers drawn along the last axis with probabilities softmax(logits); `count` per row.
template <class M>
Tensor<M> categorical(const Tensor<M>& logits, std::int64_t count, const DrawOptions& options = {});
/// Zeros with probability `rate`, 1 / (1 - rate) else, in x's shape and type.
template <class M>
Tensor<M> dropout_mask(const Tensor<M>& x, double rate, const DrawOptions& options = {});

}  // namespace TYTO_API
