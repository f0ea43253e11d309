// SPDX-License-Identifier: MIT
// Distinct elements by sorting: neighbours that differ begin a new one, and their running count numbers it.
#include "tyto/sets.hpp"

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/eager_counts.hpp"
#include "ops/once.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

T counted_from_zero(const Value& beside, std::int64_t count) {
  return emit(mode_like(beside), OpId::arange, RangeAttributes{{count}, DType::i64, Scalar(0), Scalar(1)});
}
T filled(const Value& beside, const Shape& shape, const Scalar& value) {
  return emit(mode_like(beside), OpId::fill, RangeAttributes{shape, DType::i64, value, Scalar(0)});
}

/// Rows (count, width) in the order that sorts them by their first column, then their second, ...
T order_of_rows(const T& rows) {
  T order = counted_from_zero(rows, rows.shape()[0]);
  for (std::int64_t column = rows.shape()[1]; column-- > 0;) {
    const T key = take(reshape(narrow(rows, 1, column, column + 1), {-1}), order);
    order = take(order, argsort(key));
  }
  return order;
}

/// Complex rows as real ones that sort as NumPy sorts complex numbers: by which of their parts are NaN, by the real
/// part, by the imaginary part.
T keys_of(const T& rows) {
  if (!is_complex(rows.dtype())) return rows;
  // A zero has no sign among keys.
  const T along = real(rows) + 0.0, up = imag(rows) + 0.0;
  const T without_number = cast(isnan(along), along.dtype()) * 2.0 + cast(isnan(up), up.dtype());
  const T keys = stack<Any>({without_number, along, up}, -1);
  return reshape(keys, {rows.shape()[0], 3 * rows.shape()[1]});
}

/// Where sorted rows differ from the row before; every NaN is the same.
T begins(const T& sorted) {
  const T above = narrow(sorted, 0, 1, INT64_MAX), below = narrow(sorted, 0, 0, -1);
  const T differs = any(not_equal(above, below) && !(isnan(above) && isnan(below)), 1);
  return concat({cast(filled(sorted, {1}, 1), DType::boolean), differs});
}

Unique<Any> distinct(const Value& given_x, const UniqueOptions& options) {
  const T x = given_x;
  const bool by_slices = options.axis.has_value();
  const std::int64_t axis = by_slices ? normalise_axis("unique", *options.axis, x.ndim()) : 0;
  const T first_axis = by_slices ? moveaxis(x, axis, 0) : reshape(x, {-1});
  const Shape& shape = first_axis.shape();
  const std::int64_t count = shape[0];
  const std::int64_t width = count == 0 ? 1 : element_count(shape) / count;
  const T rows = reshape(first_axis, {count, width});
  if (options.size && *options.size < 0) throw_error<ValueError>("unique: the size ", *options.size, " is negative");
  if (count == 0) {
    if (options.size.value_or(0) != 0) {
      throw_error<ShapeError>("unique: shape ", x.shape(), " has no elements to fill a size of ", *options.size);
    }
    const T none = filled(x, {0}, 0);
    return {by_slices ? x : first_axis, none, by_slices ? none : T(reshape(none, x.shape())), none};
  }
  if (!by_slices && !is_complex(x.dtype())) {
    if (std::optional<Unique<Any>> found = distinct_now(x, options.size)) return std::move(*found);
  }

  const T keys = keys_of(rows);
  const T order = keys.shape()[1] == 1 ? argsort(reshape(keys, {-1})) : order_of_rows(keys);
  const T sorted = take(rows, order, 0);
  const T number = cumsum(cast(begins(sorted), DType::i64), 0) - 1;
  if (!options.size && mode_like(x) == Mode::lazy) {
    throw GraphError("unique: the shape depends on the data, so it works in eager mode only; a size makes it fixed");
  }
  const std::int64_t size = options.size ? *options.size : number.get({-1}).item<std::int64_t>() + 1;

  // Elements without a place are put behind the last one, which is then cut off.
  const std::vector<T> places{minimum(number, size)};
  const T positions = counted_from_zero(x, count);
  const T first = narrow(scatter_min(filled(x, {size + 1}, count), places, positions), 0, 0, size);
  const T chosen = where(equal(first, count), 0, first);
  const T values = take(sorted, chosen, 0);
  Shape result = shape;
  result[0] = size;
  const T shaped = reshape(values, result);
  const T inverse = scatter(filled(x, {count}, 0), std::vector<T>{order}, minimum(number, size - 1));
  return {by_slices ? moveaxis(shaped, 0, axis) : shaped, take(order, chosen),
          by_slices ? inverse : reshape(inverse, x.shape()),
          narrow(scatter_add(filled(x, {size + 1}, 0), places, filled(x, {count}, 1)), 0, 0, size)};
}

/// A vector in ascending order, complex elements as NumPy orders them.
T ascending(const T& x) {
  if (!is_complex(x.dtype())) return sort(x);
  return take(x, order_of_rows(keys_of(reshape(x, {-1, 1}))));
}

/// Whether elements occur in a set without an order: those that are equal to one of it have its number.
T among_unordered(const T& x, const T& members) {
  const std::int64_t count = members.size();
  const T both = concat({members, reshape(x, {-1})});
  const T numbers = distinct(both, {.size = both.size()}).inverse;
  const T nowhere = cast(filled(x, {both.size()}, 0), DType::boolean);
  const T occurs =
      scatter(nowhere, std::vector<T>{narrow(numbers, 0, 0, count)}, cast(filled(x, {count}, 1), DType::boolean));
  // Every NaN has one number, and is equal to none.
  return logical_and(reshape(take(occurs, narrow(numbers, 0, count, INT64_MAX)), x.shape()), equal(x, x));
}

T among(const Value& elements, const Value& set) {
  const Value operands[] = {elements, set};
  const DType type = comparable_type(operands);
  const T x = cast_to(elements, type), members = reshape(T(cast_to(set, type)), {-1});
  if (members.size() == 0) return logical_and(not_equal(x, x), false);
  // Comparing with each of a few costs less than searching for them.
  if (members.size() <= 4) {
    T found = equal(x, members.get({0}));
    for (std::int64_t i = 1; i < members.size(); ++i) found = found || equal(x, members.get({i}));
    return found;
  }
  if (is_complex(type)) return among_unordered(x, members);
  const T sorted = sort(members);
  const T place = searchsorted(sorted, x);
  return equal(take(sorted, minimum(place, sorted.size() - 1)), x);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

namespace {

template <class M>
void require_eager(std::string_view function, const Tensor<M>& a, const Tensor<M>& b) {
  const Value operands[] = {core::given(function, a), core::given(function, b)};
  if (core::mode_of(operands) != core::Mode::lazy) return;
  core::throw_error<GraphError>(function, ": the shape depends on the data, so it works in eager mode only");
}

/// The parts along an axis that the mask, which may be shorter, holds.
template <class M>
Tensor<M> chosen(const Tensor<M>& x, const Tensor<M>& mask, std::int64_t axis = 0) {
  return take(x, reshape(nonzero(mask), {-1}), axis);
}

}  // namespace

template <class M>
Unique<M> unique_all(const Tensor<M>& x, const UniqueOptions& options) {
  TYTO_ONCE(unique_all, x, options);
  const Unique<Any> found = core::distinct(core::given("unique_all", x), options);
  return {found.values.value(), found.indices.value(), found.inverse.value(), found.counts.value()};
}

template <class M>
Tensor<M> isin(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& set, Flag invert) {
  const core::AnyTensor found = core::among(core::given("isin", x), core::given("isin", set));
  return (invert ? !found : found).value();
}

template <class M>
Tensor<M> union1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(union1d, a, b);
  require_eager("union1d", a, b);
  return unique(concat({ravel(a), ravel(b)}));
}
template <class M>
Tensor<M> intersect1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(intersect1d, a, b);
  require_eager("intersect1d", a, b);
  const Tensor<M> values = unique(a);
  return extract(isin(values, b), values);
}
template <class M>
Tensor<M> setdiff1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(setdiff1d, a, b);
  require_eager("setdiff1d", a, b);
  const Tensor<M> values = unique(a);
  return extract(isin(values, b, true), values);
}
template <class M>
Tensor<M> setxor1d(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(setxor1d, a, b);
  require_eager("setxor1d", a, b);
  // Values that occur once among those of both.
  const Tensor<M> both = core::ascending(core::AnyTensor(concat({unique(a), unique(b)}).value())).value();
  if (both.size() == 0) return both;
  const Tensor<M> changes = not_equal(narrow(both, 0, 1, INT64_MAX), narrow(both, 0, 0, -1));
  const Tensor<M> end = core::full_like(both, {1}, true, DType::boolean);
  return extract(concat({end, changes}) && concat({changes, end}), both);
}
template <class M>
Tensor<M> flatnonzero(const Tensor<M>& x) {
  core::require("flatnonzero", x);
  return reshape(nonzero(ravel(x)), {-1});
}
template <class M>
Tensor<M> compress(const Tensor<M>& condition, const std::type_identity_t<Tensor<M>>& x,
                   std::optional<std::int64_t> axis) {
  TYTO_ONCE(compress, condition, x, axis);
  core::require("compress", condition, x);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("compress", axis.value_or(0), source.ndim());
  if (condition.ndim() != 1 || condition.size() > source.shape()[static_cast<std::size_t>(along)]) {
    core::throw_error<ShapeError>("compress: a condition of shape ", condition.shape(), " along axis ", along,
                                  " of shape ", source.shape());
  }
  return chosen(source, condition, along);
}
template <class M>
Tensor<M> trim_zeros(const Tensor<M>& x) {
  TYTO_ONCE(trim_zeros, x);
  core::require("trim_zeros", x);
  if (x.ndim() != 1) core::throw_error<ShapeError>("trim_zeros: a vector is needed, not shape ", x.shape());
  const Tensor<M> places = nonzero(x);
  if (places.size() == 0) return narrow(x, 0, 0, 0);
  const std::vector<std::int64_t> ends = stack({min(places), max(places)}).template to_vector<std::int64_t>();
  return narrow(x, 0, ends[0], ends[1] + 1);
}

TYTO_INSTANTIATE(unique_all)
TYTO_INSTANTIATE(isin)
TYTO_INSTANTIATE(union1d)
TYTO_INSTANTIATE(intersect1d)
TYTO_INSTANTIATE(setdiff1d)
TYTO_INSTANTIATE(setxor1d)
TYTO_INSTANTIATE(flatnonzero)
TYTO_INSTANTIATE(compress)
TYTO_INSTANTIATE(trim_zeros)

}  // namespace TYTO_API
