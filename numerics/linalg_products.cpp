// SPDX-License-Identifier: MIT
// Products of vectors, and functions made of them: trace, cross, vander, cov, corrcoef.
#include "ops/linalg.hpp"
#include "tyto/complex.hpp"
#include "tyto/reduce.hpp"

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Tensor<M> diagonal(const Tensor<M>& x, std::int64_t k) {
  TYTO_ONCE(linalg::diagonal, x, k);
  core::require("diagonal", x);
  if (x.ndim() < 2) core::throw_error<ShapeError>("diagonal: matrices need two axes or more, not shape ", x.shape());
  return tyto::diagonal(x, k, -2, -1);
}

template <class M>
Tensor<M> trace(const Tensor<M>& x, std::int64_t k) {
  core::require("trace", x);
  if (x.ndim() < 2) core::throw_error<ShapeError>("trace: matrices need two axes or more, not shape ", x.shape());
  return sum(tyto::diagonal(x, k, -2, -1), -1);
}

template <class M>
Tensor<M> vecdot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axis) {
  TYTO_ONCE(vecdot, a, b, axis);
  const Tensor<M> left = core::given("vecdot", a), right = core::given("vecdot", b);
  const int first = core::normalise_axis("vecdot", axis, left.ndim());
  const int second = core::normalise_axis("vecdot", axis, right.ndim());
  if (left.shape()[static_cast<std::size_t>(first)] != right.shape()[static_cast<std::size_t>(second)]) {
    core::throw_error<ShapeError>("vecdot: axis ", axis, " differs in length: ", left.shape(), " and ", right.shape());
  }
  const auto along_last = [](const Tensor<M>& each, int from) {
    return from == each.ndim() - 1 ? each : moveaxis(each, from, -1);
  };
  const Tensor<M> x = along_last(left, first), y = along_last(right, second);
  const Value operands[] = {x, y};
  const DType type = core::common_type(operands);
  // Products of matrices keep their type, and sums of shorter integers do not.
  if (!is_floating(type) && !is_complex(type) && core::accumulation_type(type) != type) return sum(x * y, -1);
  const Tensor<M> rows = expand_dims(x, -2), columns = expand_dims(y, -1);
  if (!is_complex(type)) return squeeze(matmul(rows, columns), {-2, -1});
  const Shape stack = core::broadcast("vecdot", core::stack_shape(rows.shape()), core::stack_shape(columns.shape()));
  const std::int64_t length = x.shape().back();
  const Value products = core::complex_dots(
      broadcast_to(Tensor<M>(core::cast_to(rows, type)), core::extended(stack, {1, length})),
      broadcast_to(Tensor<M>(core::cast_to(columns, type)), core::extended(stack, {length, 1})), true);
  return reshape(Tensor<M>(products), stack);
}

template <class M>
Tensor<M> cross(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axis) {
  TYTO_ONCE(cross, a, b, axis);
  if (const auto found = core::in_f32(&cross<M>, a, b, axis)) return *found;
  const Tensor<M> left = core::given("cross", a), right = core::given("cross", b);
  for (const Tensor<M>& each : {left, right}) {
    const int place = core::normalise_axis("cross", axis, each.ndim());
    if (each.shape()[static_cast<std::size_t>(place)] == 3) continue;
    core::throw_error<ShapeError>("cross: axis ", axis, " must have length 3: ", left.shape(), " and ", right.shape());
  }
  const Tensor<M> x = moveaxis(left, axis, -1), y = moveaxis(right, axis, -1);
  // Each element is made of the two behind it.
  const Tensor<M> found = roll(x, {-1}, -1) * roll(y, {-2}, -1) - roll(x, {-2}, -1) * roll(y, {-1}, -1);
  return axis < 0 ? moveaxis(found, -1, axis) : moveaxis(found, -1, axis + found.ndim() - left.ndim());
}

template <class M>
Tensor<M> vander(const Tensor<M>& x, std::optional<std::int64_t> columns, Flag increasing) {
  TYTO_ONCE(vander, x, columns, increasing);
  const Tensor<M> given = core::given("vander", x);
  if (given.ndim() != 1) core::throw_error<ShapeError>("vander: a vector is needed, not shape ", given.shape());
  const std::int64_t count = columns.value_or(given.size());
  if (count < 0) core::throw_error<ValueError>("vander: ", count, " columns are fewer than none");
  if (count == 0) return broadcast_to(reshape(given, {given.size(), 1}), {given.size(), 1}).get({all, slice(0, 0)});
  // Running products rather than powers: exact for integers, and smooth at zero.
  Tensor<M> powers = broadcast_to(expand_dims(given, 1), {given.size(), count - 1});
  const Tensor<M> ones = broadcast_to(expand_dims(ones_like(given), 1), {given.size(), 1});
  powers = concat(std::vector<Tensor<M>>{ones, powers}, 1);
  const DType type = is_complex(given.dtype()) ? given.dtype() : core::accumulation_type(given.dtype());
  powers = cast(cumprod(powers, 1), type);
  return increasing ? powers : flip(powers, 1);
}

template <class M>
Tensor<M> cov(const Tensor<M>& x, const CovarianceOptions& options) {
  TYTO_ONCE(cov, x, options);
  const auto again = [&](const Tensor<M>& wide) { return cov(wide, options); };
  if (const auto found = core::in_f32(again, x)) return *found;
  const Tensor<M> given = core::given("cov", x);
  // f32 does not hold the differences of larger integers.
  if (is_integer(given.dtype()) && size_of(given.dtype()) > 1) {
    return cast(cov(cast(given, DType::f64), options), DType::f32);
  }
  Tensor<M> y = core::as_floating(given);
  if (y.ndim() > 2) core::throw_error<ShapeError>("cov: a vector or a matrix is needed, not shape ", y.shape());
  const bool alone = y.ndim() < 2;
  if (alone) y = reshape(y, {1, y.size()});
  if (!alone && !options.rows_are_variables) y = matrix_transpose(y);
  const Tensor<M> off = y - mean(y, 1, true);
  // No fewer than none: a division by zero tells of too few observations, as in NumPy.
  const double count = static_cast<double>(std::max<std::int64_t>(y.shape()[1] - options.ddof, 0));
  const Tensor<M> found = matmul(off, matrix_transpose(conj(off))) / count;
  return alone ? reshape(found, {}) : found;
}

template <class M>
Tensor<M> corrcoef(const Tensor<M>& x, Flag rows_are_variables) {
  TYTO_ONCE(corrcoef, x, rows_are_variables);
  const auto again = [&](const Tensor<M>& wide) { return corrcoef(wide, rows_are_variables); };
  if (const auto found = core::in_f32(again, x)) return *found;
  core::require("corrcoef", x);
  if (x.ndim() > 2) core::throw_error<ShapeError>("corrcoef: a vector or a matrix is needed, not shape ", x.shape());
  const Tensor<M> covariances = cov(x, {.rows_are_variables = rows_are_variables});
  if (covariances.ndim() == 0) return covariances / covariances;
  const Tensor<M> deviations = sqrt(tyto::diagonal(covariances));
  const Tensor<M> found = covariances / expand_dims(deviations, 1) / expand_dims(deviations, 0);
  if (!is_complex(found.dtype())) return clip(found, -1, 1);
  return complex(clip(real(found), -1, 1), clip(imag(found), -1, 1));
}

TYTO_INSTANTIATE_LINALG(diagonal)
TYTO_INSTANTIATE_LINALG(trace)
TYTO_INSTANTIATE_LINALG(vecdot)
TYTO_INSTANTIATE_LINALG(cross)
TYTO_INSTANTIATE_LINALG(vander)
template Tensor<Eager> cov(const Tensor<Eager>&, const CovarianceOptions&);
template Tensor<Eager> corrcoef(const Tensor<Eager>&, Flag);
template Tensor<Lazy> cov(const Tensor<Lazy>&, const CovarianceOptions&);
template Tensor<Lazy> corrcoef(const Tensor<Lazy>&, Flag);
template Tensor<Any> cov(const Tensor<Any>&, const CovarianceOptions&);
template Tensor<Any> corrcoef(const Tensor<Any>&, Flag);

}  // namespace TYTO_API
}  // namespace tyto
