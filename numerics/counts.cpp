// SPDX-License-Identifier: MIT
// Counts: how often numbers occur, and how many lie between edges.
#include <cmath>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/eager_counts.hpp"
#include "ops/holds_now.hpp"
#include "ops/once.hpp"
#include "tyto/calculus.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

T filled(const Value& beside, const Shape& shape, DType dtype) {
  return emit(mode_like(beside), OpId::fill, RangeAttributes{shape, dtype, Scalar(0), Scalar(0)});
}

/// The count of each of `length` numbers, or the sum of its weights. Numbers outside are put behind the last place,
/// which is then cut off.
T counted_within(const T& numbers, std::int64_t length, const T& weights) {
  const T places = where(numbers < 0 || numbers >= length, length, numbers);
  const T sums = scatter_add(filled(numbers, {length + 1}, weights.dtype()), std::vector<T>{places}, weights);
  return narrow(sums, 0, 0, length);
}

/// How many points lie in each box; a vector of coordinates and one of edges for each axis. The last interval of an
/// axis includes its upper edge.
template <class M>
Tensor<M> counted_in_boxes(std::string_view function, const std::vector<Tensor<M>>& coordinates,
                           const std::vector<Tensor<M>>& edges) {
  Shape shape;
  Tensor<M> box, inside;
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    if (edges[axis].ndim() != 1 || edges[axis].size() < 2) {
      throw_error<ShapeError>(function, ": vectors of two edges or more are needed, not of shape ",
                              edges[axis].shape());
    }
    const std::int64_t count = edges[axis].size() - 1;
    const Tensor<M> place = where(equal(coordinates[axis], edges[axis].get({-1})), count - 1,
                                  searchsorted(edges[axis], coordinates[axis], true) - 1);
    const Tensor<M> within = place >= 0 && place < count;
    box = axis == 0 ? place : box * count + place;
    inside = axis == 0 ? within : inside && within;
    shape.push_back(count);
  }
  return reshape(bincount(where(inside, box, -1), element_count(shape)), shape);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> count_nonzero(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(count_nonzero, x, axes, keepdims);
  const Tensor<M> given = core::given("count_nonzero", x);
  return sum(given.dtype() == DType::boolean ? given : not_equal(given, 0), axes, keepdims);
}

template <class M>
Tensor<M> bincount(const Tensor<M>& x, std::optional<std::int64_t> length,
                   const std::type_identity_t<Tensor<M>>& weights) {
  TYTO_ONCE(bincount, x, length, weights);
  if (const auto found = core::in_f32(&bincount<M>, x, length, weights)) return *found;
  const Value& given = core::given("bincount", x);
  if (!is_integer(given.dtype())) core::throw_error<TypeError>("bincount: integers are counted, not ", given.dtype());
  if (given.ndim() != 1) core::throw_error<ShapeError>("bincount: a vector is needed, not shape ", given.shape());
  if (length && *length < 0) core::throw_error<ValueError>("bincount: the length ", *length, " is negative");
  if (weights.defined() && weights.shape() != given.shape()) {
    core::throw_error<ShapeError>("bincount: weights of shape ", weights.shape(), " for numbers of shape ",
                                  given.shape());
  }
  const core::AnyTensor numbers = core::cast_to(given, DType::i64);
  if (!length && core::mode_like(given) == core::Mode::lazy) {
    throw GraphError("bincount: without a length the shape depends on the data, so it works in eager mode only");
  }
  core::AnyTensor each;
  if (weights.defined()) each = core::as_floating(core::given("bincount", weights));
  const std::int64_t places = length ? *length : core::length_for_counts(numbers);
  if (const Value counted = core::counted_now(numbers, places, each)) return counted;
  if (!each.defined()) each = ones_like(numbers);
  return core::counted_within(numbers, places, each).value();
}

template <class M>
Tensor<M> digitize(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges, Flag right) {
  TYTO_ONCE(digitize, x, edges, right);
  core::require("digitize", x, edges);
  if (edges.ndim() != 1)
    core::throw_error<ShapeError>("digitize: edges must be a vector, not of shape ", edges.shape());
  const std::int64_t count = edges.size();
  if (count == 0) return zeros_like(x).astype(DType::i64);
  const Tensor<M> falls = edges.get({0}) > edges.get({-1});
  const std::optional<bool> known_to_fall = core::holds_now(falls);
  Tensor<M> ascending, descending;
  if (known_to_fall != true) ascending = searchsorted(edges, x, !right);
  if (known_to_fall != false) descending = count - searchsorted(flip(edges), x, !right);
  if (known_to_fall) return *known_to_fall ? descending : ascending;
  return where(falls, descending, ascending);
}

template <class M>
Histogram<M> histogram(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges,
                       const HistogramOptions& options) {
  const Tensor<M> counts = histogram(x, edges);
  if (!options.density) return {counts, edges};
  const DType type = edges.dtype() == DType::f32 ? DType::f32 : DType::f64;
  const Tensor<M> limits = cast(edges, type), heights = cast(counts, type);
  return {heights / diff(limits) / sum(heights), edges};
}

template <class M>
Histogram<M> histogram(const Tensor<M>& x, std::int64_t bins, double low, double high,
                       const HistogramOptions& options) {
  core::require("histogram", x);
  if (bins < 1) core::throw_error<ValueError>("histogram: ", bins, " bins; at least one is needed");
  if (!std::isfinite(low) || !std::isfinite(high)) {
    core::throw_error<ValueError>("histogram: the range from ", low, " to ", high, " is not finite");
  }
  if (!(low < high)) core::throw_error<ValueError>("histogram: the range from ", low, " to ", high, " is empty");
  const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor<M> edges = Tensor<M>::linspace(low, high, bins + 1, type);
  return histogram(x, edges, options);
}

template <class M>
Histogram<M> histogram(const Tensor<M>& x, std::int64_t bins, const HistogramOptions& options) {
  core::require("histogram", x);
  if (bins < 1) core::throw_error<ValueError>("histogram: ", bins, " bins; at least one is needed");
  // Integers up to 2^53, and their edges, are exact in f64.
  const Tensor<M> numbers = is_floating(x.dtype()) && size_of(x.dtype()) > 2 ? x : cast(x, DType::f64);
  Tensor<M> low = Tensor<M>::full({}, 0.0, numbers.dtype()), high = Tensor<M>::full({}, 1.0, numbers.dtype());
  if (x.size() > 0) {
    const Tensor<M> least = options.ignore_nan ? nanmin(numbers) : min(numbers);
    const Tensor<M> most = options.ignore_nan ? nanmax(numbers) : max(numbers);
    if (core::holds_now(isfinite(least) && isfinite(most)) == false) {
      core::throw_error<ValueError>("histogram: the elements' range, from ", least.item().as_double(), " to ",
                                    most.item().as_double(), ", is not finite; give one: histogram(x, ", bins,
                                    ", low, high), or pass over NaN: {.ignore_nan = true}");
    }
    const Tensor<M> margin = where(least == most, 0.5, 0.0);
    low = least - margin;
    high = most + margin;
  }
  const Tensor<M> steps = Tensor<M>::arange(0, bins, 1, numbers.dtype());
  const Tensor<M> edges = concat({low + steps * ((high - low) / static_cast<double>(bins)), reshape(high, {1})});
  return histogram(numbers, edges, options);
}

template <class M>
Tensor<M> histogram2d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y,
                      const std::type_identity_t<Tensor<M>>& x_edges, const std::type_identity_t<Tensor<M>>& y_edges) {
  TYTO_ONCE(histogram2d, x, y, x_edges, y_edges);
  core::require("histogram2d", x, y, x_edges, y_edges);
  if (x.ndim() != 1 || x.shape() != y.shape()) {
    core::throw_error<ShapeError>("histogram2d: vectors of one length are needed, not ", x.shape(), " and ", y.shape());
  }
  return core::counted_in_boxes<M>("histogram2d", {x, y}, {x_edges, y_edges});
}

template <class M>
Tensor<M> histogramdd(const Tensor<M>& points, const std::vector<Tensor<M>>& edges) {
  TYTO_ONCE(histogramdd, points, edges);
  core::require("histogramdd", points);
  if (points.ndim() != 2 || static_cast<std::size_t>(points.shape()[1]) != edges.size() || edges.empty()) {
    core::throw_error<ShapeError>("histogramdd: points must be rows of a matrix with a column for each of ",
                                  edges.size(), " vectors of edges, not of shape ", points.shape());
  }
  std::vector<Tensor<M>> columns;
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    core::require("histogramdd", edges[axis]);
    columns.push_back(points.get({all, static_cast<std::int64_t>(axis)}));
  }
  return core::counted_in_boxes("histogramdd", columns, edges);
}

TYTO_INSTANTIATE(count_nonzero)
TYTO_INSTANTIATE(bincount)
TYTO_INSTANTIATE(digitize)
TYTO_INSTANTIATE(histogram2d)
template Tensor<Eager> histogramdd(const Tensor<Eager>&, const std::vector<Tensor<Eager>>&);
template Tensor<Lazy> histogramdd(const Tensor<Lazy>&, const std::vector<Tensor<Lazy>>&);
template Tensor<Any> histogramdd(const Tensor<Any>&, const std::vector<Tensor<Any>>&);
template Histogram<Eager> histogram(const Tensor<Eager>&, std::int64_t, const HistogramOptions&);
template Histogram<Eager> histogram(const Tensor<Eager>&, std::int64_t, double, double, const HistogramOptions&);
template Histogram<Eager> histogram(const Tensor<Eager>&, const Tensor<Eager>&, const HistogramOptions&);
template Histogram<Lazy> histogram(const Tensor<Lazy>&, std::int64_t, const HistogramOptions&);
template Histogram<Lazy> histogram(const Tensor<Lazy>&, std::int64_t, double, double, const HistogramOptions&);
template Histogram<Lazy> histogram(const Tensor<Lazy>&, const Tensor<Lazy>&, const HistogramOptions&);
template Histogram<Any> histogram(const Tensor<Any>&, std::int64_t, const HistogramOptions&);
template Histogram<Any> histogram(const Tensor<Any>&, std::int64_t, double, double, const HistogramOptions&);
template Histogram<Any> histogram(const Tensor<Any>&, const Tensor<Any>&, const HistogramOptions&);

}  // namespace TYTO_API
