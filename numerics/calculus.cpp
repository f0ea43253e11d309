// SPDX-License-Identifier: MIT
// Differences, slopes and areas, made of parts along an axis; interpolation, made of a search and elements taken.
#include "tyto/calculus.hpp"

#include "ops/define.hpp"
#include "ops/planned.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// Distances between neighbours along an axis, shaped to go along with parts of x: one number, or one for each.
template <class M>
Tensor<M> distances(std::string_view function, const Tensor<M>& x, std::int64_t axis, const Tensor<M>& spacing) {
  if (spacing.ndim() == 0) return spacing;
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  if (spacing.shape() != Shape{length}) {
    core::throw_error<ShapeError>(function, ": ", length, " places are needed along axis ", axis, " of shape ",
                                  x.shape(), ", not a spacing of shape ", spacing.shape());
  }
  Shape along(x.shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(length - 1, 0);
  return reshape(diff(spacing), along);
}

template <class M>
Tensor<M> floating_of(std::string_view function, const Tensor<M>& x) {
  return core::as_floating(core::given(function, x));
}

/// The areas between neighbours.
template <class M>
Tensor<M> strips(std::string_view function, const Tensor<M>& given, std::int64_t axis, const Tensor<M>& spacing) {
  const Tensor<M> y = floating_of(function, given);
  core::require(function, spacing);
  const std::int64_t along = core::normalise_axis(function, axis, y.ndim());
  const Tensor<M> width = distances(function, y, along, spacing);
  return width * (narrow(y, along, 1, INT64_MAX) + narrow(y, along, 0, -1)) * 0.5;
}

}  // namespace

template <class M>
Tensor<M> diff(const Tensor<M>& x, std::int64_t order, std::int64_t axis) {
  TYTO_ONCE(diff, x, order, axis);
  Tensor<M> out = core::given("diff", x);
  const std::int64_t along = core::normalise_axis("diff", axis, out.ndim());
  if (order < 0) core::throw_error<ValueError>("diff: the order ", order, " is negative");
  if (order > 1) {
    if (const auto found = core::in_f32(&diff<M>, x, order, axis)) return *found;
  }
  const auto difference = [](const Tensor<M>& above, const Tensor<M>& below) {
    return above.dtype() == DType::boolean ? not_equal(above, below) : above - below;
  };
  // Recorded, differences of differences are made of parts of x alone, which one loop reads.
  constexpr std::int64_t in_one_loop = 4;
  const std::int64_t length = out.shape()[static_cast<std::size_t>(along)];
  if (core::mode_like(out) == core::Mode::lazy && order > 1 && order <= in_one_loop && order < length) {
    std::vector<Tensor<M>> parts;
    for (std::int64_t i = 0; i <= order; ++i) parts.push_back(narrow(out, along, i, length - order + i));
    for (std::int64_t left = order; left > 0; --left) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) parts[i] = difference(parts[i + 1], parts[i]);
    }
    return parts[0];
  }
  for (std::int64_t i = 0; i < order && out.shape()[static_cast<std::size_t>(along)] > 0; ++i) {
    out = difference(narrow(out, along, 1, INT64_MAX), narrow(out, along, 0, -1));
  }
  return out;
}

template <class M>
Tensor<M> unwrap(const Tensor<M>& x, std::int64_t axis, double period) {
  TYTO_ONCE(unwrap, x, axis, period);
  const Tensor<M> angles = floating_of("unwrap", x);
  const std::int64_t along = core::normalise_axis("unwrap", axis, angles.ndim());
  if (!(period > 0)) core::throw_error<ValueError>("unwrap: the period ", period, " is not positive");
  if (angles.shape()[static_cast<std::size_t>(along)] < 2) return angles;
  if (const auto found = core::in_f32(&unwrap<M>, x, axis, period)) return *found;
  const double half = period / 2;
  const Tensor<M> steps = diff(angles, 1, along);
  const Tensor<M> short_steps = remainder(steps + half, period) - half;
  // A step of just half a period keeps its direction.
  const Tensor<M> taken = where(equal(short_steps, -half) && steps > 0, half, short_steps);
  const Tensor<M> moves = where(abs(steps) < half, 0, taken - steps);
  return concat(
      std::vector<Tensor<M>>{narrow(angles, along, 0, 1), narrow(angles, along, 1, INT64_MAX) + cumsum(moves, along)},
      along);
}

template <class M>
Tensor<M> gradient(const Tensor<M>& x, std::int64_t axis, const std::type_identity_t<Tensor<M>>& spacing,
                   int edge_order) {
  TYTO_ONCE(gradient, x, axis, spacing, edge_order);
  const Tensor<M> f = floating_of("gradient", x);
  core::require("gradient", spacing);
  if (const auto found = core::in_f32(&gradient<M>, x, axis, spacing, edge_order)) return *found;
  const std::int64_t along = core::normalise_axis("gradient", axis, f.ndim());
  const std::int64_t length = f.shape()[static_cast<std::size_t>(along)];
  if (edge_order != 1 && edge_order != 2)
    core::throw_error<ValueError>("gradient: the edge order is 1 or 2, not ", edge_order);
  if (length <= edge_order) {
    core::throw_error<ShapeError>("gradient: ", edge_order + 1, " samples or more are needed along axis ", along,
                                  " of shape ", f.shape());
  }
  const bool even = spacing.ndim() == 0;
  Tensor<M> step = distances("gradient", f, along, spacing);
  // Sums of plain numbers would be rounded as f32.
  if (core::scalar_operand(step) != nullptr) step = step.astype(real_type(f.dtype()));
  const auto part = [&](std::int64_t begin, std::int64_t end) { return narrow(f, along, begin, end); };
  const auto width = [&](std::int64_t begin, std::int64_t end) {
    return even ? step : narrow(step, along, begin, end);
  };
  const auto slope = [&](std::int64_t at) { return (part(at + 1, at + 2) - part(at, at + 1)) / width(at, at + 1); };

  Tensor<M> first = slope(0), last = slope(length - 2);
  if (edge_order == 2) {
    // The parabola through three samples, at its end.
    const Tensor<M> a = width(0, 1), b = width(1, 2);
    first = first + (first - slope(1)) * a / (a + b);
    const Tensor<M> c = width(length - 2, length - 1), d = width(length - 3, length - 2);
    last = last + (last - slope(length - 3)) * c / (c + d);
  }
  if (length == 2) return concat({first, last}, along);
  Tensor<M> inner;
  if (even) {
    inner = (part(2, length) - part(0, length - 2)) / (2 * step);
  } else {
    const Tensor<M> below = width(0, length - 2), above = width(1, length - 1);
    inner = (part(1, length - 1) - part(0, length - 2)) * (above / (below * (below + above))) +
            (part(2, length) - part(1, length - 1)) * (below / (above * (below + above)));
  }
  return concat({first, inner, last}, along);
}

template <class M>
Tensor<M> trapezoid(const Tensor<M>& y, std::int64_t axis, const std::type_identity_t<Tensor<M>>& spacing) {
  TYTO_ONCE(trapezoid, y, axis, spacing);
  if (const auto found = core::in_f32(&trapezoid<M>, y, axis, spacing)) return *found;
  const Tensor<M> f = floating_of("trapezoid", y);
  core::require("trapezoid", spacing);
  const int along = core::normalise_axis("trapezoid", axis, f.ndim());
  if (core::scalar_operand(spacing) == nullptr || f.shape()[static_cast<std::size_t>(along)] < 2) {
    return sum(strips("trapezoid", f, along, spacing), along);
  }
  // In strips of one width an inner sample counts twice. The sum of all less half of the ends would be NaN for infinite
  // ends.
  const Tensor<M> ends = narrow(f, along, 0, 1) * 0.5 + narrow(f, along, -1, INT64_MAX) * 0.5;
  return squeeze(sum(narrow(f, along, 1, -1), along, true) + ends, along) * spacing;
}

template <class M>
Tensor<M> cumulative_trapezoid(const Tensor<M>& y, std::int64_t axis, const std::type_identity_t<Tensor<M>>& spacing) {
  TYTO_ONCE(cumulative_trapezoid, y, axis, spacing);
  if (const auto found = core::in_f32(&cumulative_trapezoid<M>, y, axis, spacing)) return *found;
  return cumsum(strips("cumulative_trapezoid", y, axis, spacing), axis);
}

template <class M>
Tensor<M> interp(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& at,
                 const std::type_identity_t<Tensor<M>>& values, std::optional<double> left,
                 std::optional<double> right) {
  TYTO_ONCE(interp, x, at, values, left, right);
  const Tensor<M> given = floating_of("interp", x);
  const Tensor<M> places = floating_of("interp", at), heights = floating_of("interp", values);
  if (const Value planned = core::planned(&interp<Any>, given, places, heights, left, right)) return planned;
  if (const auto found = core::in_f32(&interp<M>, x, at, values, left, right)) return *found;
  if (places.ndim() != 1 || places.shape() != heights.shape() || places.size() == 0) {
    core::throw_error<ShapeError>("interp: places and values must be vectors of one length from 1 on, not ",
                                  places.shape(), " and ", heights.shape());
  }
  const Tensor<M> first = places.get({0}), last = places.get({-1});
  // The slope of each interval, and none behind the last point: there, as at every point, the value itself is met. None
  // between equal points, nor between equal infinities.
  const auto begin = [](const Tensor<M>& points) { return narrow(points, 0, 0, -1); };
  const auto end = [](const Tensor<M>& points) { return narrow(points, 0, 1, INT64_MAX); };
  const Tensor<M> widths = diff(places), rises = diff(heights), level = equal(begin(heights), end(heights));
  const Tensor<M> none = equal(widths, 0) || (level && isinf(begin(heights)));
  const Tensor<M> slopes = pad(where(none, 0, rises / where(none, 1, widths)), {1}, {1});
  // A line from infinity to a finite point is reckoned from its end; one of no slope may be reckoned from anywhere.
  const Tensor<M> from_end =
      (isinf(begin(places)) || isinf(begin(heights))) && isfinite(end(places)) && isfinite(end(heights));
  const Tensor<M> anywhere = level && isinf(begin(places));
  const Tensor<M> inside = clip(given, first, last);
  // An interval has the number of the point behind it: what is taken is moved up by one instead of subtracting it.
  const Tensor<M> interval = searchsorted(places, inside, true);
  const auto begun = [&](const Tensor<M>& of_intervals, const Tensor<M>& of_points) {
    return take(pad(concat({of_intervals, narrow(of_points, 0, -1, INT64_MAX)}), {1}, {0}), interval);
  };
  const Tensor<M> start = begun(where(from_end, end(places), where(anywhere, 0, begin(places))), places);
  Tensor<M> found = take(slopes, interval) * (inside - start);
  found = where(isnan(found) && equal(inside, start), 0, found) +
          begun(where(from_end, end(heights), begin(heights)), heights);
  // Below all that is finite only the first value is met.
  found = where(isnan(found) && equal(given, first) && isinf(first), heights.get({0}), found);
  found = where(given < first, left ? Tensor<M>(*left) : heights.get({0}), found);
  if (right) found = where(given > last, *right, found);
  return found;
}

TYTO_INSTANTIATE(diff)
TYTO_INSTANTIATE(unwrap)
TYTO_INSTANTIATE(gradient)
TYTO_INSTANTIATE(trapezoid)
TYTO_INSTANTIATE(cumulative_trapezoid)
TYTO_INSTANTIATE(interp)

}  // namespace TYTO_API
