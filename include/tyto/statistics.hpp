// SPDX-License-Identifier: MIT
// Statistics: order, averages, counts, and reductions that leave NaN out.
#pragma once

#include <initializer_list>
#include <vector>

#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Middle element by size, or the mean of the two in the middle; NaN if there is one. Integers give f32.
template <class M>
Tensor<M> median(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// The number that the part `q` (0 to 1) of the elements does not exceed, in a straight line between neighbours as
/// NumPy's default; NaN if there is one.
template <class M>
Tensor<M> quantile(const Tensor<M>& x, double q, const Axes& axes = {}, KeepDims keepdims = false);
/// Several quantiles, along a first axis: `quantile(x, {0.05, 0.95})`.
template <class M>
Tensor<M> quantile(const Tensor<M>& x, const std::vector<double>& q, const Axes& axes = {}, KeepDims keepdims = false) {
  std::vector<Tensor<M>> parts;
  for (const double each : q) parts.push_back(quantile(x, each, axes, keepdims));
  return stack(parts);
}
/// The same of numbers in braces, of which one makes a first axis too.
template <class M>
Tensor<M> quantile(const Tensor<M>& x, std::initializer_list<double> q, const Axes& axes = {},
                   KeepDims keepdims = false) {
  return quantile(x, std::vector<double>(q), axes, keepdims);
}
/// The quantile of `percent` hundredths.
template <class M>
Tensor<M> percentile(const Tensor<M>& x, double percent, const Axes& axes = {}, KeepDims keepdims = false) {
  return quantile(x, percent / 100, axes, keepdims);
}
/// Several, along a first axis: `percentile(x, {25, 75})`.
template <class M>
Tensor<M> percentile(const Tensor<M>& x, std::vector<double> percents, const Axes& axes = {},
                     KeepDims keepdims = false) {
  for (double& percent : percents) percent /= 100;
  return quantile(x, percents, axes, keepdims);
}
/// The same of numbers in braces, of which one makes a first axis too.
template <class M>
Tensor<M> percentile(const Tensor<M>& x, std::initializer_list<double> percents, const Axes& axes = {},
                     KeepDims keepdims = false) {
  return percentile(x, std::vector<double>(percents), axes, keepdims);
}
/// Mean of elements weighted by `weights`, which are shaped as x or as its axis.
template <class M>
Tensor<M> average(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& weights, const Axes& axes = {},
                  KeepDims keepdims = false);
/// The distance from the smallest to the largest element ("peak to peak").
template <class M>
Tensor<M> ptp(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);

/// Each element and `before` neighbours before and `after` behind it along an axis, added up; beyond the ends is
/// nothing.
///
///     auto smooth = moving_sum(Tensor{1, 5, 2, 7}, 1, 1) / 3;
template <class M>
Tensor<M> moving_sum(const Tensor<M>& x, std::int64_t before, std::int64_t after, std::int64_t axis = -1);

// Reductions over the elements that are not NaN.
/// Their sum, 0 where there are none, and their product, 1 there.
template <class M>
Tensor<M> nansum(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanprod(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Their mean, variance, deviation, least, greatest, median and quantile; NaN where there is nothing but NaN.
template <class M>
Tensor<M> nanmean(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanvar(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0);
template <class M>
Tensor<M> nanstd(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0);
template <class M>
Tensor<M> nanmin(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanmax(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanmedian(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanquantile(const Tensor<M>& x, double q, const Axes& axes = {}, KeepDims keepdims = false);
/// Position of the (first) smallest, or largest, number; 0 where there is nothing but NaN.
template <class M>
Tensor<M> nanargmin(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, KeepDims keepdims = false);
template <class M>
Tensor<M> nanargmax(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, KeepDims keepdims = false);
/// Running sum and product in which NaN counts for nothing.
template <class M>
Tensor<M> nancumsum(const Tensor<M>& x, std::optional<std::int64_t> axis = {});
template <class M>
Tensor<M> nancumprod(const Tensor<M>& x, std::optional<std::int64_t> axis = {});

// Counts.

/// How many elements are not zero.
template <class M>
Tensor<M> count_nonzero(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// How often each number from 0 on occurs among integers, or the sum of its weights. With a `length` (numbers outside
/// of it are left out) in both modes; without one as many as the largest number asks for, in eager mode only.
template <class M>
Tensor<M> bincount(const Tensor<M>& x, std::optional<std::int64_t> length = {},
                   const std::type_identity_t<Tensor<M>>& weights = {});
/// The number of the interval between `edges`, ascending or descending, in which each element lies: its lower edge
/// belongs to it, or the upper one with `right`.
template <class M>
Tensor<M> digitize(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges, Flag right = false);

/// Result of `histogram`.
template <class M>
struct Histogram {
  Tensor<M> counts;  ///< of each interval
  Tensor<M> edges;   ///< of the intervals, one more than there are
};
/// Options of `histogram`.
struct HistogramOptions {
  /// Frequencies in place of counts: over the sum of all counts and the width of the interval, so that the integral
  /// is 1.
  bool density = false;
  /// Whether the range of elements of which some are NaN is that of the others; else they have none. In a given range
  /// NaN is never counted, as in NumPy.
  bool ignore_nan = false;
};
/// Counts of x's elements in `bins` intervals of one width from `low` to `high`.
///
///     const auto [density, edges] = histogram(x, 50, -3, 3, {.density = true});
template <class M>
Histogram<M> histogram(const Tensor<M>& x, std::int64_t bins, double low, double high,
                       const HistogramOptions& options = {});
/// The same from the smallest to the largest element, or half a unit to both sides of them where they are equal. Throws
/// ValueError where that range is not finite; a graph, which cannot, gives edges that are not.
template <class M>
Histogram<M> histogram(const Tensor<M>& x, std::int64_t bins, const HistogramOptions& options = {});
/// The same between ascending edges.
template <class M>
Histogram<M> histogram(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges,
                       const HistogramOptions& options);
/// Counts of points (x, y) in the fields between the edges of both.
template <class M>
Tensor<M> histogram2d(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y,
                      const std::type_identity_t<Tensor<M>>& x_edges, const std::type_identity_t<Tensor<M>>& y_edges);
/// Counts of points, the rows of a matrix, in the boxes between edges, a vector for each column.
template <class M>
Tensor<M> histogramdd(const Tensor<M>& points, const std::vector<Tensor<M>>& edges);
template <class M>
Tensor<M> histogramdd(const Tensor<M>& points, std::initializer_list<Tensor<M>> edges) {
  return histogramdd(points, std::vector<Tensor<M>>(edges));
}

}  // namespace TYTO_API
