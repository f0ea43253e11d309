// SPDX-License-Identifier: MIT
// Products made of the matrix product and of broadcasting: dot, outer, kron, tensordot.
#include "tyto/products.hpp"

#include "ops/define.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// `0, 1, ... rank-1` without the listed axes.
IntList axes_besides(const IntList& listed, int rank) {
  IntList out;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(listed.begin(), listed.end(), axis) == listed.end()) out.push_back(axis);
  }
  return out;
}

IntList joined(const IntList& first, const IntList& second) {
  IntList out = first;
  for (const std::int64_t value : second) out.push_back(value);
  return out;
}

IntList lengths(const Shape& shape, const IntList& axes) {
  IntList out;
  for (const std::int64_t axis : axes) out.push_back(shape[static_cast<std::size_t>(axis)]);
  return out;
}

template <class M>
void check_given(std::string_view function, const Tensor<M>& a, const Tensor<M>& b) {
  (void)core::given(function, a);
  (void)core::given(function, b);
}

}  // namespace

template <class M>
Tensor<M> dot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(dot, a, b);
  check_given("dot", a, b);
  if (a.ndim() == 0 || b.ndim() == 0) return a * b;
  if (b.ndim() <= 2) {
    if (a.shape().back() != b.shape()[0]) {
      core::throw_error<ShapeError>("dot: inner sizes differ: ", a.shape(), " . ", b.shape());
    }
    return matmul(a, b);
  }
  if (a.shape().back() != b.shape()[b.shape().size() - 2]) {
    core::throw_error<ShapeError>("dot: inner sizes differ: ", a.shape(), " . ", b.shape());
  }
  return tensordot(a, b, IntList{-1}, IntList{-2});
}

template <class M>
Tensor<M> matvec(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& x) {
  TYTO_ONCE(matvec, a, x);
  check_given("matvec", a, x);
  if (a.ndim() < 2 || x.ndim() < 1 || a.shape().back() != x.shape().back()) {
    core::throw_error<ShapeError>("matvec: columns of matrices differ from elements of vectors: ", a.shape(), " and ",
                                  x.shape());
  }
  if (x.ndim() == 1) return matmul(a, x);
  return squeeze(matmul(a, expand_dims(x, -1)), -1);
}

template <class M>
Tensor<M> vecmat(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& a) {
  TYTO_ONCE(vecmat, x, a);
  check_given("vecmat", x, a);
  if (a.ndim() < 2 || x.ndim() < 1 || a.shape()[a.shape().size() - 2] != x.shape().back()) {
    core::throw_error<ShapeError>("vecmat: elements of vectors differ from rows of matrices: ", x.shape(), " and ",
                                  a.shape());
  }
  const Tensor<M> left = is_complex(x.dtype()) ? conj(x) : x;
  if (x.ndim() == 1) return matmul(left, a);
  return squeeze(matmul(expand_dims(left, -2), a), -2);
}

template <class M>
Tensor<M> outer(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(outer, a, b);
  check_given("outer", a, b);
  return reshape(a, {a.size(), 1}) * reshape(b, {1, b.size()});
}

// Axis i of the result is a's axis i with b's inside each step: both get a neighbour of length one to fill.
template <class M>
Tensor<M> kron(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(kron, a, b);
  check_given("kron", a, b);
  const int rank = std::max(a.ndim(), b.ndim());
  const auto length = [rank](const Tensor<M>& x, int axis) {
    const int own = axis - (rank - x.ndim());
    return own < 0 ? 1 : x.shape()[static_cast<std::size_t>(own)];
  };
  Shape left;
  Shape right;
  Shape whole;
  for (int axis = 0; axis < rank; ++axis) {
    left.push_back(length(a, axis));
    left.push_back(1);
    right.push_back(1);
    right.push_back(length(b, axis));
    whole.push_back(length(a, axis) * length(b, axis));
  }
  return reshape(reshape(a, left) * reshape(b, right), whole);
}

template <class M>
Tensor<M> tensordot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const IntList& a_axes,
                    const IntList& b_axes) {
  TYTO_ONCE(tensordot, a, b, a_axes, b_axes);
  check_given("tensordot", a, b);
  if (a_axes.size() != b_axes.size()) {
    core::throw_error<ShapeError>("tensordot: ", a_axes.size(), " axes of the first operand are paired with ",
                                  b_axes.size(), " of the second");
  }
  IntList left;
  IntList right;
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    left.push_back(core::normalise_axis("tensordot", a_axes[i], a.ndim()));
    right.push_back(core::normalise_axis("tensordot", b_axes[i], b.ndim()));
    const auto repeats = [](const IntList& list) {
      return std::find(list.begin(), list.end() - 1, list.back()) != list.end() - 1;
    };
    if (repeats(left) || repeats(right)) throw ValueError("tensordot: an axis is summed over twice");
  }
  if (lengths(a.shape(), left) != lengths(b.shape(), right)) {
    core::throw_error<ShapeError>("tensordot: paired axes differ in length: ", lengths(a.shape(), left), " of ",
                                  a.shape(), " and ", lengths(b.shape(), right), " of ", b.shape());
  }
  const IntList rows = axes_besides(left, a.ndim());
  const IntList columns = axes_besides(right, b.ndim());
  const std::int64_t inner = element_count(lengths(a.shape(), left));
  const Tensor<M> tall = reshape(transpose(a, joined(rows, left)), {element_count(lengths(a.shape(), rows)), inner});
  const Tensor<M> wide =
      reshape(transpose(b, joined(right, columns)), {inner, element_count(lengths(b.shape(), columns))});
  return reshape(matmul(tall, wide), joined(lengths(a.shape(), rows), lengths(b.shape(), columns)));
}

template <class M>
Tensor<M> tensordot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axes) {
  TYTO_ONCE(tensordot, a, b, axes);
  check_given("tensordot", a, b);
  if (axes < 0 || axes > a.ndim() || axes > b.ndim()) {
    core::throw_error<ValueError>("tensordot: ", axes, " axes of ", a.shape(), " and ", b.shape(),
                                  "; neither has fewer than 0 or more than its rank");
  }
  IntList last;
  IntList first;
  for (std::int64_t i = 0; i < axes; ++i) {
    last.push_back(a.ndim() - axes + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}

TYTO_INSTANTIATE(dot)
TYTO_INSTANTIATE(matvec)
TYTO_INSTANTIATE(vecmat)
TYTO_INSTANTIATE(outer)
TYTO_INSTANTIATE(kron)

#define TYTO_INSTANTIATE_TENSORDOT(M)                                                                    \
  template Tensor<M> tensordot(const Tensor<M>&, const std::type_identity_t<Tensor<M>>&, std::int64_t);  \
  template Tensor<M> tensordot(const Tensor<M>&, const std::type_identity_t<Tensor<M>>&, const IntList&, \
                               const IntList&);
TYTO_INSTANTIATE_TENSORDOT(Eager)
TYTO_INSTANTIATE_TENSORDOT(Lazy)
TYTO_INSTANTIATE_TENSORDOT(Any)
#undef TYTO_INSTANTIATE_TENSORDOT

}  // namespace TYTO_API
