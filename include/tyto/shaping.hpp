// SPDX-License-Identifier: MIT
// Shape manipulation: reshape, transpose, concatenate, pad, tile; views where strides allow, in both modes.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// The same elements in row-major order under another shape; one length may be -1.
template <class M>
[[nodiscard]] Tensor<M> reshape(const Tensor<M>& x, const Shape& shape);
/// Axes in the given order; reversed when none is given.
template <class M>
[[nodiscard]] Tensor<M> transpose(const Tensor<M>& x, const IntList& order = {});
template <class T, class Mode = typename T::mode>
T transpose(const T&, const detail::Anything&, const detail::Anything&) = delete;  // swapaxes(x, 0, 1), or {1, 0, 2}
/// The last two axes exchanged.
template <class M>
Tensor<M> matrix_transpose(const Tensor<M>& x);
/// Two axes exchanged.
template <class M>
[[nodiscard]] Tensor<M> swapaxes(const Tensor<M>& x, std::int64_t a, std::int64_t b);
/// An axis taken out and put in at another place.
template <class M>
[[nodiscard]] Tensor<M> moveaxis(const Tensor<M>& x, std::int64_t from, std::int64_t to);
/// Without axes of length one: those named, or all.
template <class M>
[[nodiscard]] Tensor<M> squeeze(const Tensor<M>& x, const Axes& axes = {});
/// With new axes of length one at the named places of the result.
template <class M>
[[nodiscard]] Tensor<M> expand_dims(const Tensor<M>& x, const Axes& axes);
/// One axis.
template <class M>
[[nodiscard]] Tensor<M> ravel(const Tensor<M>& x);
/// Axes `first` to the last one merged.
template <class M>
[[nodiscard]] Tensor<M> flatten(const Tensor<M>& x, std::int64_t first = 0);
/// Stretched by NumPy's broadcasting rules.
template <class M>
[[nodiscard]] Tensor<M> broadcast_to(const Tensor<M>& x, const Shape& shape);
/// Another element type.
template <class M>
[[nodiscard]] Tensor<M> cast(const Tensor<M>& x, DType dtype);
/// Elements in reverse order along the axes (all when none is named).
template <class M>
[[nodiscard]] Tensor<M> flip(const Tensor<M>& x, const Axes& axes = {});
/// A dense copy of its own.
template <class M>
Tensor<M> copy(const Tensor<M>& x);

/// Tensors joined along an existing axis: `concat({x, y}, 1)`.
template <class M>
Tensor<M> concat(const std::vector<Tensor<M>>& parts, std::int64_t axis = 0);  // concat({x, y})
template <class M>
Tensor<M> concat(std::initializer_list<Tensor<M>> parts, std::int64_t axis = 0) {
  return concat(std::vector<Tensor<M>>(parts), axis);
}
template <class M>
Tensor<M> concat(const Tensor<M>&, const detail::Anything&, const detail::Anything& = 0) = delete;  // concat({x, y})
/// Tensors of one shape joined along a new axis.
template <class M>
Tensor<M> stack(const std::vector<Tensor<M>>& parts, std::int64_t axis = 0);  // stack({x, y})
template <class M>
Tensor<M> stack(std::initializer_list<Tensor<M>> parts, std::int64_t axis = 0) {
  return stack(std::vector<Tensor<M>>(parts), axis);
}
template <class M>
Tensor<M> stack(const Tensor<M>&, const detail::Anything&, const detail::Anything& = 0) = delete;  // stack({x, y})
/// The part [begin, end) along one axis, as a slice: negative positions count from the end, and what lies outside of
/// the axis is cut off.
template <class M>
Tensor<M> narrow(const Tensor<M>& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
/// `parts` pieces of equal length along `axis`.
template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, std::int64_t parts, std::int64_t axis = 0);
/// Pieces between the given positions along `axis`. In braces one number is a position as well: `split(x, {2})` gives
/// the first two and the rest, `split(x, 2)` two halves.
template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, const IntList& positions, std::int64_t axis = 0);
template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, std::initializer_list<std::int64_t> positions, std::int64_t axis = 0) {
  return split(x, IntList(positions), axis);
}
/// The whole repeated `counts[i]` times along axis i.
template <class M>
[[nodiscard]] Tensor<M> tile(const Tensor<M>& x, const IntList& counts);
/// Each element repeated `count` times along `axis`; of the flattened tensor without one.
template <class M>
[[nodiscard]] Tensor<M> repeat(const Tensor<M>& x, std::int64_t count, std::optional<std::int64_t> axis = {});
/// Elements shifted round by `shift` along `axis`; of the flattened tensor without one.
template <class M>
[[nodiscard]] Tensor<M> roll(const Tensor<M>& x, const IntList& shift, const Axes& axes = {});

/// The padding of `pad`: a constant, the edge elements, reflections at the edge (without the edge element, or with it:
/// symmetric), or the elements at the other end.
enum class PaddingMode : std::uint8_t { constant, edge, reflect, symmetric, wrap };
/// `before[i]` and `after[i]` elements added along axis i.
template <class M>
[[nodiscard]] Tensor<M> pad(const Tensor<M>& x, const IntList& before, const IntList& after,
                            PaddingMode mode = PaddingMode::constant, const Scalar& value = 0);
/// `width` elements added at both ends of every axis.
template <class M>
[[nodiscard]] Tensor<M> pad(const Tensor<M>& x, std::int64_t width, PaddingMode mode = PaddingMode::constant,
                            const Scalar& value = 0);

/// The diagonal of a matrix, or a matrix with the vector x on its diagonal `k`.
template <class M>
Tensor<M> diag(const Tensor<M>& x, std::int64_t k = 0);
/// Diagonal `k` of the planes spanned by two axes, as last axis.
template <class M>
Tensor<M> diagonal(const Tensor<M>& x, std::int64_t k = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// Sum of the diagonal of the first two axes.
template <class M>
Tensor<M> trace(const Tensor<M>& x, std::int64_t k = 0);
/// The part at and below diagonal `k` of the last two axes, zeros above.
template <class M>
[[nodiscard]] Tensor<M> tril(const Tensor<M>& x, std::int64_t k = 0);
/// The part at and above diagonal `k` of the last two axes, zeros below.
template <class M>
[[nodiscard]] Tensor<M> triu(const Tensor<M>& x, std::int64_t k = 0);
/// Coordinate grids of vectors, in matrix ("ij") order.
template <class M>
std::vector<Tensor<M>> meshgrid(const std::vector<Tensor<M>>& axes);
template <class M>
std::vector<Tensor<M>> meshgrid(std::initializer_list<Tensor<M>> axes) {
  return meshgrid(std::vector<Tensor<M>>(axes));
}

/// Zeros, ones or `value` in the shape and element type of x.
template <class M>
Tensor<M> zeros_like(const Tensor<M>& x);
template <class M>
Tensor<M> ones_like(const Tensor<M>& x);
template <class M>
Tensor<M> full_like(const Tensor<M>& x, const Scalar& value);

}  // namespace TYTO_API
