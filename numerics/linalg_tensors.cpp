// SPDX-License-Identifier: MIT
// Systems of equations between tensors: those of matrices whose rows and columns are several axes.
#include "ops/linalg.hpp"

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Tensor<M> tensorsolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const IntList& axes) {
  TYTO_ONCE(tensorsolve, a, b, axes);
  core::require("tensorsolve", a, b);
  Tensor<M> ordered = a;
  IntList places;
  for (const std::int64_t axis : axes) places.push_back(core::normalise_axis("tensorsolve", axis, a.ndim()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    ordered = moveaxis(ordered, places[i], -1);
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      if (places[j] == places[i]) core::throw_error<ValueError>("tensorsolve: axis ", places[i], " is named twice");
      if (places[j] > places[i]) --places[j];
    }
  }
  const auto known = static_cast<std::size_t>(b.ndim());
  Shape unknowns;
  for (std::size_t axis = known; axis < ordered.shape().size(); ++axis) unknowns.push_back(ordered.shape()[axis]);
  const std::int64_t count = element_count(unknowns);
  if (known > ordered.shape().size() || ordered.size() != b.size() * count || b.size() != count) {
    core::throw_error<ShapeError>("tensorsolve: ", ordered.shape(), " has ", count, " unknowns after the axes of ",
                                  b.shape(), "; as many as its ", b.size(), " elements are needed");
  }
  return reshape(solve(reshape(ordered, {b.size(), count}), ravel(b)), unknowns);
}

template <class M>
Tensor<M> tensorinv(const Tensor<M>& a, std::int64_t axes) {
  TYTO_ONCE(tensorinv, a, axes);
  core::require("tensorinv", a);
  if (axes < 1 || axes > a.ndim()) {
    core::throw_error<ValueError>("tensorinv: ", axes, " axes are asked for, shape ", a.shape(), " has ", a.ndim());
  }
  Shape first, shape;
  for (std::size_t axis = 0; axis < a.shape().size(); ++axis) {
    (axis < static_cast<std::size_t>(axes) ? first : shape).push_back(a.shape()[axis]);
  }
  const std::int64_t rows = element_count(first), columns = element_count(shape);
  if (rows != columns) {
    core::throw_error<ShapeError>("tensorinv: the first ", axes, " axes of ", a.shape(), " have ", rows,
                                  " elements and the others ", columns, "; as many are needed");
  }
  for (const std::int64_t length : first) shape.push_back(length);
  return reshape(inv(reshape(a, {rows, columns})), shape);
}

TYTO_INSTANTIATE_LINALG(tensorsolve)
TYTO_INSTANTIATE_LINALG(tensorinv)

}  // namespace TYTO_API
}  // namespace tyto
