// SPDX-License-Identifier: MIT
// Norms of vectors and matrices, and the condition number made of them.
#include <cmath>

#include "ops/linalg.hpp"
#include "tyto/reduce.hpp"

namespace tyto {
namespace linalg TYTO_API {

namespace {

/// f(x) where x is not zero, `otherwise` where it is; the gradient there is zero, whatever f's would be.
template <class M, class F>
Tensor<M> where_not_zero(const Tensor<M>& x, double otherwise, const F& f) {
  const Tensor<M> zero = equal(x, 0);
  return where(zero, Tensor<M>(otherwise), f(where(zero, Tensor<M>(1.0), x)));
}

template <class M>
Tensor<M> root(const Tensor<M>& x, double power) {
  return where_not_zero(x, power > 0 ? 0.0 : INFINITY, [&](const Tensor<M>& y) { return tyto::power(y, 1 / power); });
}

/// The two axes last, and the others as they were.
template <class M>
Tensor<M> with_matrices_last(const Tensor<M>& x, std::int64_t row_axis, std::int64_t column_axis) {
  IntList order;
  for (std::int64_t axis = 0; axis < x.ndim(); ++axis) {
    if (axis != row_axis && axis != column_axis) order.push_back(axis);
  }
  order.push_back(row_axis);
  order.push_back(column_axis);
  return transpose(x, order);
}

/// The largest or smallest sum of sizes along one of the last two axes.
template <class M>
Tensor<M> extreme_sum(const Tensor<M>& x, std::int64_t summed, bool largest) {
  if (const auto found = core::in_f32(&extreme_sum<M>, x, summed, largest)) return *found;
  const Tensor<M> sums = sum(abs(x), summed);  // the other axis is the last one left
  return largest ? max(sums, -1) : min(sums, -1);
}

template <class M>
Tensor<M> norm_of_matrices(std::string_view op, const Tensor<M>& x, const NormOrder& order) {
  if (order.none() || order.matrix() == MatrixNorm::frobenius) return l2_norm(x, {-2, -1}, false);
  if (order.matrix() == MatrixNorm::nuclear) return sum(svdvals(x), -1);
  const double p = *order.number();
  if (std::abs(p) == 1) return extreme_sum(x, -2, p > 0);
  if (std::isinf(p)) return extreme_sum(x, -1, p > 0);
  if (std::abs(p) == 2) return p > 0 ? max(svdvals(x), -1) : min(svdvals(x), -1);
  core::throw_error<ValueError>(op, ": a matrix has no norm of order ", p,
                                "; there are 1, 2, infinity, their negatives, frobenius and nuclear");
}

}  // namespace

template <class M>
Tensor<M> vector_norm(const Tensor<M>& x, double p, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(vector_norm, x, p, axes, keepdims);
  const Tensor<M> y = core::as_floating(core::given("vector_norm", x));
  if (std::isnan(p)) throw ValueError("vector_norm: there is no norm of order NaN");
  if (p == 2) return l2_norm(y, axes, keepdims);
  if (std::isinf(p)) return p > 0 ? max(abs(y), axes, keepdims) : min(abs(y), axes, keepdims);
  if (p == 0) return sum(cast(not_equal(y, 0), real_type(y.dtype())), axes, keepdims);
  if (p == 1) return sum(abs(y), axes, keepdims);
  if (const auto found = core::in_f32(&vector_norm<M>, y, p, axes, keepdims)) return *found;
  const Tensor<M> powers =
      where_not_zero(abs(y), p > 0 ? 0.0 : INFINITY, [&](const Tensor<M>& size) { return power(size, p); });
  return root(sum(powers, axes, keepdims), p);
}

template <class M>
Tensor<M> matrix_norm(const Tensor<M>& x, const NormOrder& order, KeepDims keepdims) {
  TYTO_ONCE(matrix_norm, x, order, keepdims);
  const Tensor<M> y = core::as_floating(core::given("matrix_norm", x));
  if (y.ndim() < 2) {
    core::throw_error<ShapeError>("matrix_norm: matrices need two axes or more, not shape ", y.shape());
  }
  const Tensor<M> found = norm_of_matrices("matrix_norm", y, order);
  return keepdims ? expand_dims(found, {-2, -1}) : found;
}

template <class M>
Tensor<M> norm(const Tensor<M>& x, const NormOrder& order, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(norm, x, order, axes, keepdims);
  const Tensor<M> y = core::as_floating(core::given("norm", x));
  if (axes.all() && order.none()) return l2_norm(y, axes, keepdims);
  if (axes.all() && y.ndim() != 1 && y.ndim() != 2) {
    core::throw_error<ShapeError>("norm: with an order and without axes a vector or a matrix is needed, not shape ",
                                  y.shape());
  }
  IntList named = axes.list();
  if (axes.all()) named = y.ndim() == 1 ? IntList{0} : IntList{0, 1};
  for (std::int64_t& axis : named) axis = core::normalise_axis("norm", axis, y.ndim());
  if (named.size() == 1) {
    if (order.matrix()) {
      throw ValueError("norm: vectors have norms of a number, not the frobenius or nuclear one");
    }
    return vector_norm(y, order.none() ? 2.0 : *order.number(), Axes(named), keepdims);
  }
  if (named.size() != 2) {
    core::throw_error<ValueError>("norm: ", named.size(), " axes are named; vectors have one, matrices two");
  }
  if (named[0] == named[1]) core::throw_error<ValueError>("norm: both axes are axis ", named[0]);
  const Tensor<M> found = norm_of_matrices("norm", with_matrices_last(y, named[0], named[1]), order);
  if (!keepdims) return found;
  return expand_dims(found, Axes(IntList{std::min(named[0], named[1]), std::max(named[0], named[1])}));
}

// Singular values of one end over those of the other; for other norms a matrix without an inverse is infinitely bad,
// unless it holds a NaN itself.
template <class M>
Tensor<M> cond(const Tensor<M>& a, const NormOrder& order) {
  TYTO_ONCE(cond, a, order);
  const Tensor<M> x = core::matrix_operand("cond", a);
  core::check_matrices("cond", core::TensorType{x.dtype(), x.shape(), false});
  if (order.none() || (order.number() && std::abs(*order.number()) == 2)) {
    const Tensor<M> values = svdvals(x), largest = max(values, -1), smallest = min(values, -1);
    return order.none() || *order.number() > 0 ? largest / smallest : smallest / largest;
  }
  core::check_square("cond", core::TensorType{x.dtype(), x.shape(), false});
  const Tensor<M> found = norm_of_matrices("cond", x, order) * norm_of_matrices("cond", inv_ex(x).value, order);
  const Tensor<M> own = any(isnan(x), {-2, -1});
  return where(logical_and(isnan(found), logical_not(own)), Tensor<M>(INFINITY), found);
}

TYTO_INSTANTIATE_LINALG(vector_norm)
TYTO_INSTANTIATE_LINALG(matrix_norm)
TYTO_INSTANTIATE_LINALG(norm)
TYTO_INSTANTIATE_LINALG(cond)

}  // namespace TYTO_API
}  // namespace tyto
