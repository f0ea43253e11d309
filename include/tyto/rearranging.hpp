// SPDX-License-Identifier: MIT
// NumPy's everyday ways to put arrays together, take them apart and turn them round, made of those in tyto/shaping.hpp.
#pragma once

#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

/// x with leading axes of length one until it has at least so many axes; a vector becomes the middle one of three.
template <class M>
Tensor<M> atleast_1d(const Tensor<M>& x);
template <class M>
Tensor<M> atleast_2d(const Tensor<M>& x);
template <class M>
Tensor<M> atleast_3d(const Tensor<M>& x);

/// Rows on top of each other; vectors are rows.
template <class M>
Tensor<M> vstack(const std::vector<Tensor<M>>& parts);
template <class M>
Tensor<M> vstack(std::initializer_list<Tensor<M>> parts) {
  return vstack(std::vector<Tensor<M>>(parts));
}
/// Side by side: along the second axis, vectors along their only one.
template <class M>
Tensor<M> hstack(const std::vector<Tensor<M>>& parts);
template <class M>
Tensor<M> hstack(std::initializer_list<Tensor<M>> parts) {
  return hstack(std::vector<Tensor<M>>(parts));
}
/// Behind each other: along the third axis.
template <class M>
Tensor<M> dstack(const std::vector<Tensor<M>>& parts);
template <class M>
Tensor<M> dstack(std::initializer_list<Tensor<M>> parts) {
  return dstack(std::vector<Tensor<M>>(parts));
}
/// Stacks vectors as columns, next to columns of matrices.
template <class M>
Tensor<M> column_stack(const std::vector<Tensor<M>>& parts);
template <class M>
Tensor<M> column_stack(std::initializer_list<Tensor<M>> parts) {
  return column_stack(std::vector<Tensor<M>>(parts));
}
/// Rows of blocks, each row's blocks side by side.
template <class M>
Tensor<M> block(const std::vector<std::vector<Tensor<M>>>& rows);

/// The parts along an axis, without it.
template <class M>
std::vector<Tensor<M>> unstack(const Tensor<M>& x, std::int64_t axis = 0);
/// `parts` pieces along `axis`, the first ones longer by one where they do not divide it.
template <class M>
std::vector<Tensor<M>> array_split(const Tensor<M>& x, std::int64_t parts, std::int64_t axis = 0);
/// All stretched to the shape in which they meet.
template <class M>
std::vector<Tensor<M>> broadcast_arrays(const std::vector<Tensor<M>>& tensors);
template <class M>
std::vector<Tensor<M>> broadcast_arrays(std::initializer_list<Tensor<M>> tensors) {
  return broadcast_arrays(std::vector<Tensor<M>>(tensors));
}
/// The shape in which shapes meet.
Shape broadcast_shapes(const std::vector<Shape>& shapes);

/// Turned by 90 degrees `times` times, from the first towards the second of the two axes.
template <class M>
[[nodiscard]] Tensor<M> rot90(const Tensor<M>& x, std::int64_t times = 1, std::int64_t from = 0, std::int64_t to = 1);
/// The columns in reverse order.
template <class M>
[[nodiscard]] Tensor<M> fliplr(const Tensor<M>& x);
/// The rows in reverse order.
template <class M>
[[nodiscard]] Tensor<M> flipud(const Tensor<M>& x);

/// Elements put before position `at` along an axis; of the flattened tensor without one. Values are stretched along the
/// other axes.
template <class M>
[[nodiscard]] Tensor<M> insert(const Tensor<M>& x, std::int64_t at, const std::type_identity_t<Tensor<M>>& values,
                               std::optional<std::int64_t> axis = {});
/// x without the elements at the positions along an axis ("delete" elsewhere, a keyword here).
template <class M>
[[nodiscard]] Tensor<M> remove(const Tensor<M>& x, const IntList& positions, std::optional<std::int64_t> axis = {});
/// Values put behind x along an axis; both flattened without one.
template <class M>
[[nodiscard]] Tensor<M> append(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& values,
                               std::optional<std::int64_t> axis = {});
/// x with diagonal elements replaced by a number, or by values repeated along it.
template <class M>
[[nodiscard]] Tensor<M> fill_diagonal(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& value);
/// The elements in row-major order, repeated until they fill another shape.
template <class M>
[[nodiscard]] Tensor<M> resize_to(const Tensor<M>& x, const Shape& shape);

/// Coordinates of every place of a shape, as many tensors stacked as it has axes.
template <class T>
T indices(const Shape& shape);
/// Rows and columns of what lies at and below, or at and above, diagonal `k` of a matrix.
template <class T>
std::pair<T, T> tril_indices(std::int64_t rows, std::int64_t k = 0, std::int64_t columns = -1);
template <class T>
std::pair<T, T> triu_indices(std::int64_t rows, std::int64_t k = 0, std::int64_t columns = -1);
/// Vectors shaped so that together they pick a grid: `x(rows, columns)` by `ix_({r, c})`.
template <class M>
std::vector<Tensor<M>> ix_(const std::vector<Tensor<M>>& vectors);
template <class M>
std::vector<Tensor<M>> ix_(std::initializer_list<Tensor<M>> vectors) {
  return ix_(std::vector<Tensor<M>>(vectors));
}

}  // namespace TYTO_API
