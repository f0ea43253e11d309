// SPDX-License-Identifier: MIT
// Median and quantiles, from the two neighbours of the place asked for among the axes joined into one; averages and
// sums of neighbours.
#include "tyto/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/once.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

/// The axes to be reduced joined into one, which comes last.
T joined(const T& x, const IntList& axes) {
  IntList order;
  for (std::int64_t i = 0; i < x.ndim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  Shape shape;
  for (const std::int64_t axis : order) shape.push_back(x.shape()[static_cast<std::size_t>(axis)]);
  std::int64_t length = 1;
  for (const std::int64_t axis : axes) {
    order.push_back(axis);
    length *= x.shape()[static_cast<std::size_t>(axis)];
  }
  shape.push_back(length);
  return reshape(order.empty() ? x : transpose(x, order), shape);
}

/// The number `beyond` of the way from one to another: from the nearer end, so that both ends are met; as shares of
/// both where their distance is out of range. Equal neighbours that are infinite have no line between them.
T between(const T& below, const T& above, double beyond) {
  const auto again = [&](const T& low, const T& high) { return between(low, high, beyond); };
  if (const auto found = in_f32(again, below, above)) return *found;
  const T step = above - below;
  const T straight = beyond < 0.5 ? below + step * beyond : above - step * (1 - beyond);
  const T inside = where(isfinite(step), straight, below * (1 - beyond) + above * beyond);
  return where(isinf(below) && equal(below, above), below, inside);
}

/// The same where each place has a way of its own, in f64.
T between(const T& below, const T& above, const T& share) {
  const auto again = [&](const T& low, const T& high) { return between(low, high, share); };
  if (const auto found = in_f32(again, below, above)) return *found;
  const T beyond = cast(share, below.dtype());
  const T step = above - below;
  const T line = where(beyond < 0.5, below + step * beyond, above - step * (1.0 - beyond));
  const T inside = where(isfinite(step), line, below * (1.0 - beyond) + above * beyond);
  return where((isinf(below) && equal(below, above)) || equal(beyond, 0.0), below, inside);
}

T ordered_part(std::string_view op, const Value& given_value, double q, const Axes& asked, bool keepdims) {
  const T x = as_floating(given_value);
  const IntList axes = normalise_axes(op, asked, x.ndim());
  const T line = joined(x, axes);
  const std::size_t last = line.shape().size() - 1;
  const std::int64_t length = line.shape()[last];
  if (length == 0)
    throw_error<ShapeError>(op, ": axes ", axes, " of shape ", x.shape(), " are empty, so nothing is there to order");
  const double place = q * static_cast<double>(length - 1);
  const auto low = static_cast<std::int64_t>(std::floor(place));
  const double beyond = place - static_cast<double>(low);
  const T ordered =
      emit(OpId::order_statistics, ListAttributes{{low, std::min(low + 1, length - 1), length - 1}}, {line});
  const T below = part_along(ordered, last, 0, 1), above = part_along(ordered, last, 1, 1);
  const T part = beyond == 0 ? below : between(below, above, beyond);
  // Any NaN is sorted to the end.
  const T largest = part_along(ordered, last, 2, 1);
  const T found = where(isnan(largest), std::numeric_limits<double>::quiet_NaN(), part);
  return reshape(found, reduced_shape(x.shape(), axes, keepdims));
}

/// As ordered_part among the numbers alone, of which there may be a different count in each place: NaN, which sorts to
/// the end, is beyond them.
T ordered_number(std::string_view op, const Value& given_value, double q, const Axes& asked, bool keepdims) {
  const T x = as_floating(given_value);
  const IntList axes = normalise_axes(op, asked, x.ndim());
  const T sorted = sort(joined(x, axes), -1);
  const Shape shape = reduced_shape(x.shape(), axes, keepdims);
  if (sorted.shape().back() == 0) {
    throw_error<ShapeError>(op, ": axes ", axes, " of shape ", x.shape(), " are empty, so nothing is there to order");
  }
  const T last = sum(!isnan(sorted), -1, true) - 1;
  const T place = q * cast(last, DType::f64);
  const T low = cast(floor(place), DType::i64);
  const T below = take_along_axis(sorted, maximum(low, 0), -1);
  const T above = take_along_axis(sorted, clip(low + 1, 0, maximum(last, 0)), -1);
  return reshape(between(below, above, place - floor(place)), shape);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> median(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(median, x, axes, keepdims);
  core::require("median", x);
  return core::ordered_part("median", x, 0.5, axes, keepdims).value();
}
template <class M>
Tensor<M> quantile(const Tensor<M>& x, double q, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(quantile, x, q, axes, keepdims);
  core::require("quantile", x);
  if (!(q >= 0 && q <= 1)) core::throw_error<ValueError>("quantile: q = ", q, " is outside [0, 1]");
  return core::ordered_part("quantile", x, q, axes, keepdims).value();
}
template <class M>
Tensor<M> nanmedian(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanmedian, x, axes, keepdims);
  core::require("nanmedian", x);
  return core::ordered_number("nanmedian", x, 0.5, axes, keepdims).value();
}
template <class M>
Tensor<M> nanquantile(const Tensor<M>& x, double q, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanquantile, x, q, axes, keepdims);
  core::require("nanquantile", x);
  if (!(q >= 0 && q <= 1)) core::throw_error<ValueError>("nanquantile: q = ", q, " is outside [0, 1]");
  return core::ordered_number("nanquantile", x, q, axes, keepdims).value();
}

template <class M>
Tensor<M> average(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& weights, const Axes& axes,
                  KeepDims keepdims) {
  TYTO_ONCE(average, x, weights, axes, keepdims);
  if (const auto found = core::in_f32(&average<M>, x, weights, axes, keepdims)) return *found;
  core::require("average", x, weights);
  // Integers are added up in f64.
  if (const Value whole = core::resolve(x); is_integer(whole.dtype())) {
    const Value operands[] = {core::as_floating(whole), core::as_floating(core::resolve(weights))};
    return cast(average(Tensor<M>(core::cast_to(whole, DType::f64)), weights, axes, keepdims),
                core::common_type(operands));
  }
  const Tensor<M> given = core::as_floating(core::resolve(x));
  Tensor<M> weight = core::as_floating(core::resolve(weights));
  if (weight.shape() != given.shape()) {
    const IntList along = core::normalise_axes("average", axes, given.ndim());
    const bool fits =
        along.size() == 1 && weight.ndim() == 1 && weight.size() == given.shape()[static_cast<std::size_t>(along[0])];
    if (!fits) {
      core::throw_error<ShapeError>("average: weights of shape ", weight.shape(), " are neither shaped as ",
                                    given.shape(), " nor as its axis");
    }
    Shape shape(given.shape().size(), 1);
    shape[static_cast<std::size_t>(along[0])] = weight.size();
    weight = broadcast_to(reshape(weight, shape), given.shape());
  }
  return sum(given * weight, axes, keepdims) / sum(weight, axes, keepdims);
}

template <class M>
Tensor<M> ptp(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(ptp, x, axes, keepdims);
  const Tensor<M> given = core::given("ptp", x);
  return max(given, axes, keepdims) - min(given, axes, keepdims);
}

template <class M>
Tensor<M> moving_sum(const Tensor<M>& x, std::int64_t before, std::int64_t after, std::int64_t axis) {
  TYTO_ONCE(moving_sum, x, before, after, axis);
  if (const auto found = core::in_f32(&moving_sum<M>, x, before, after, axis)) return *found;
  const Tensor<M> given = core::given("moving_sum", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("moving_sum", axis, given.ndim()));
  if (before < 0 || after < 0) {
    core::throw_error<ValueError>("moving_sum: before = ", before, " and after = ", after, " must be at least 0");
  }
  // Beyond the ends there is nothing to add up, however wide the window.
  const std::int64_t length = given.shape()[along], most = std::max<std::int64_t>(length - 1, 0);
  IntList left(given.shape().size(), 0), right = left;
  left[along] = std::min(before, most);
  right[along] = std::min(after, most);
  Tensor<M> block = pad(given, left, right);
  const std::int64_t window = left[along] + right[along] + 1;
  Tensor<M> total;
  const auto take = [&](std::int64_t begin) {
    const Tensor<M> shifted = core::part_along(block, along, begin, length);
    total = total.defined() ? total + shifted : shifted;
  };
  // Few places are one loop. Of many, sums of 1, 2, 4, ... neighbours are made of one another.
  constexpr std::int64_t few = 16;
  if (window <= few) {
    for (std::int64_t i = 0; i < window; ++i) take(i);
  } else {
    for (std::int64_t width = 1, begin = 0; width <= window; width *= 2) {
      if ((window & width) != 0) {
        take(begin);
        begin += width;
      }
      if (2 * width > window) break;
      const std::int64_t rest = block.shape()[along] - width;
      const Tensor<M> near = core::part_along(block, along, 0, rest), far = core::part_along(block, along, width, rest);
      block = near + far;
    }
  }
  return total;
}

TYTO_INSTANTIATE(median)
template Tensor<Eager> quantile(const Tensor<Eager>&, double, const Axes&, KeepDims);
template Tensor<Lazy> quantile(const Tensor<Lazy>&, double, const Axes&, KeepDims);
template Tensor<Any> quantile(const Tensor<Any>&, double, const Axes&, KeepDims);
TYTO_INSTANTIATE(nanmedian)
TYTO_INSTANTIATE(nanquantile)
TYTO_INSTANTIATE(average)
TYTO_INSTANTIATE(moving_sum)
TYTO_INSTANTIATE(ptp)

}  // namespace TYTO_API
