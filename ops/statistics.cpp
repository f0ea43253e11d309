// Median and quantiles, made of a sort along the axes joined into one and of the two neighbours of the place asked for.
#include "tyto/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/define.hpp"
#include "tyto/indexing.hpp"
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

T ordered_part(std::string_view op, const Value& given_value, double q, const Axes& asked, bool keepdims) {
  const T x = as_floating(given_value);
  const IntList axes = normalise_axes(op, asked, x.ndim());
  const T sorted = sort(joined(x, axes), -1);
  const std::size_t last = sorted.shape().size() - 1;
  const std::int64_t length = sorted.shape()[last];
  if (length == 0)
    throw ShapeError(text(op, ": axes ", axes, " of shape ", x.shape(), " are empty, so nothing is there to order"));
  const double place = q * static_cast<double>(length - 1);
  const auto low = static_cast<std::int64_t>(std::floor(place));
  const double beyond = place - static_cast<double>(low);
  const T below = part_along(sorted, last, low, 1);
  const T above = part_along(sorted, last, std::min(low + 1, length - 1), 1);
  // From the nearer end, so that both ends are met; as shares of both where their distance is out of range. Equal
  // neighbours, infinite ones too, need no line between them.
  const T step = above - below;
  const T line = beyond < 0.5 ? below + step * beyond : above - step * (1 - beyond);
  const T between = where(isfinite(step), line, below * (1 - beyond) + above * beyond);
  const T part = beyond == 0 ? below : where(equal(below, above), below, between);
  // Any NaN is sorted to the end.
  const T largest = part_along(sorted, last, length - 1, 1);
  const T found = where(isnan(largest), std::numeric_limits<double>::quiet_NaN(), part);
  return reshape(found, reduced_shape(x.shape(), axes, keepdims));
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> median(const Tensor<M>& x, const Axes& axes, bool keepdims) {
  core::require("median", x);
  return core::ordered_part("median", x, 0.5, axes, keepdims).value();
}
template <class M>
Tensor<M> quantile(const Tensor<M>& x, double q, const Axes& axes, bool keepdims) {
  core::require("quantile", x);
  if (!(q >= 0 && q <= 1)) throw ValueError(core::text("quantile: q = ", q, " is outside [0, 1]"));
  return core::ordered_part("quantile", x, q, axes, keepdims).value();
}
TYTO_INSTANTIATE(median)
TYTO_INSTANTIATE(quantile)

}  // namespace TYTO_API
