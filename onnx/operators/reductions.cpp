// SPDX-License-Identifier: MIT
// Reductions, scans and sorting along axes.
#include "tyto/reduce.hpp"

#include <limits>

#include "core/value/element_types.hpp"
#include "onnx/program/operators.hpp"
#include "onnx/program/regions.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs reduced(const OperatorCall& call, const std::vector<std::int64_t>& axes, bool given) {
  const bool keep = call.integer("keepdims", 1) != 0;
  const Array& x = call[0];
  const Array y = call.function().reduction(x, given ? Axes(IntList(std::span(axes))) : Axes(), keep);
  return {y.dtype() == x.dtype() ? y : cast(y, x.dtype())};
}

Outputs by_attribute(const OperatorCall& call) {
  const std::vector<std::int64_t>& axes = call.integers("axes");
  return reduced(call, axes, !axes.empty());
}

Outputs by_input(const OperatorCall& call) {
  const bool nothing = call.integer("noop_with_empty_axes", 0) != 0;
  const std::vector<std::int64_t> axes = call.has(1) ? call.axes_in(1, call[0].ndim()) : std::vector<std::int64_t>();
  if (!axes.empty() || !nothing) return reduced(call, axes, !axes.empty());
  call.ignore("keepdims");
  // No axis is reduced; what the operator does to each element remains, which a reduction over an axis of length one
  // does.
  return {cast(call.function().reduction(expand_dims(call[0], -1), -1, false), call[0].dtype())};
}

Array sum_of(const Array& x, const Axes& axes, bool keep) { return sum(x, axes, keep); }
Array product_of(const Array& x, const Axes& axes, bool keep) { return prod(x, axes, keep); }
Array mean_of(const Array& x, const Axes& axes, bool keep) { return mean(x, axes, keep); }
Array absolute_sum_of(const Array& x, const Axes& axes, bool keep) { return l1_norm(x, axes, keep); }
Array length_of(const Array& x, const Axes& axes, bool keep) { return l2_norm(x, axes, keep); }
Array square_sum_of(const Array& x, const Axes& axes, bool keep) { return l2_norm_sqr(x, axes, keep); }
Array log_sum_of(const Array& x, const Axes& axes, bool keep) {
  return cast(log(sum(halves_in_f32(x), axes, keep)), x.dtype());
}
Array log_sum_exp_of(const Array& x, const Axes& axes, bool keep) { return logsumexp(x, axes, keep); }

bool empty_along(const Array& x, const Axes& axes) {
  if (axes.all()) return x.size() == 0;
  for (const std::int64_t axis : axes.list()) {
    const std::int64_t at = axis < 0 ? axis + x.ndim() : axis;
    if (at >= 0 && at < x.ndim() && axis_length(x, static_cast<std::size_t>(at)) == 0) return true;
  }
  return false;
}

Scalar extreme(DType dtype, bool largest) {
  return core::with_element_type(dtype, [&]<class E>() {
    if constexpr (std::is_integral_v<E>) {
      return Scalar(largest ? std::numeric_limits<E>::max() : std::numeric_limits<E>::min());
    } else {
      return Scalar((largest ? 1 : -1) * std::numeric_limits<double>::infinity());
    }
  });
}

// The extreme of nothing is that of the type, where Tyto and NumPy refuse to say one.
Array extreme_of(const Array& x, const Axes& axes, bool keep, bool largest) {
  if (!empty_along(x, axes)) return largest ? max(x, axes, keep) : min(x, axes, keep);
  const Shape shape = sum(x, axes, keep).shape();
  return Array::full(shape, extreme(x.dtype(), !largest), x.dtype());
}
Array largest_of(const Array& x, const Axes& axes, bool keep) { return extreme_of(x, axes, keep, true); }
Array smallest_of(const Array& x, const Axes& axes, bool keep) { return extreme_of(x, axes, keep, false); }

Array place_of_largest(const Array& x, const Axes& axis, bool keep) { return argmax(x, axis.list()[0], keep); }
Array place_of_smallest(const Array& x, const Axes& axis, bool keep) { return argmin(x, axis.list()[0], keep); }

Outputs place_of(const OperatorCall& call) {
  const auto f = call.function().reduction;
  const Array& x = call[0];
  const std::int64_t axis = call.axis(0, x.ndim());
  const bool keep = call.integer("keepdims", 1) != 0, last = call.integer("select_last_index", 0) != 0;
  if (!last) return {f(x, axis, keep)};
  const std::int64_t length = axis_length(x, static_cast<std::size_t>(axis));
  return {-f(flip(x, {axis}), axis, keep) + (length - 1)};
}

Outputs running_sum(const OperatorCall& call) {
  const ScanOptions options{call.integer("exclusive", 0) != 0, call.integer("reverse", 0) != 0};
  return {along_named_axis(call, 1, call[0].ndim(),
                           [&](std::int64_t axis) { return cast(cumsum(call[0], axis, options), call[0].dtype()); })};
}
Outputs cumulative_product(const OperatorCall& call) {
  const ScanOptions options{call.integer("exclusive", 0) != 0, call.integer("reverse", 0) != 0};
  return {along_named_axis(call, 1, call[0].ndim(),
                           [&](std::int64_t axis) { return cast(cumprod(call[0], axis, options), call[0].dtype()); })};
}

Outputs best(const OperatorCall& call, std::int64_t k) {
  const std::int64_t axis = call.integer("axis", -1);
  const bool largest = call.integer("largest", 1) != 0;
  call.ignore("sorted");  // sorted results are right also where the order does not matter
  const TopK<Any> found = topk(call[0], k, axis, largest);
  return {found.values, cast(found.indices, DType::i64)};
}
Outputs best_by_attribute(const OperatorCall& call) { return best(call, call.integer("k")); }
Outputs best_by_input(const OperatorCall& call) { return best(call, call.integer_in(1)); }

constexpr OperatorRow reduction_table[] = {
    {"ArgMax", 1, place_of, place_of_largest},
    {"ArgMin", 1, place_of, place_of_smallest},
    {"CumProd", 26, cumulative_product},
    {"CumSum", 11, running_sum},
    {"ReduceL1", 1, by_attribute, absolute_sum_of},
    {"ReduceL1", 18, by_input, absolute_sum_of},
    {"ReduceL2", 1, by_attribute, length_of},
    {"ReduceL2", 18, by_input, length_of},
    {"ReduceLogSum", 1, by_attribute, log_sum_of},
    {"ReduceLogSum", 18, by_input, log_sum_of},
    {"ReduceLogSumExp", 1, by_attribute, log_sum_exp_of},
    {"ReduceLogSumExp", 18, by_input, log_sum_exp_of},
    {"ReduceMax", 1, by_attribute, largest_of},
    {"ReduceMax", 18, by_input, largest_of},
    {"ReduceMean", 1, by_attribute, mean_of},
    {"ReduceMean", 18, by_input, mean_of},
    {"ReduceMin", 1, by_attribute, smallest_of},
    {"ReduceMin", 18, by_input, smallest_of},
    {"ReduceProd", 1, by_attribute, product_of},
    {"ReduceProd", 18, by_input, product_of},
    {"ReduceSum", 1, by_attribute, sum_of},
    {"ReduceSum", 13, by_input, sum_of},
    {"ReduceSumSquare", 1, by_attribute, square_sum_of},
    {"ReduceSumSquare", 18, by_input, square_sum_of},
    {"TopK", 1, best_by_attribute},
    {"TopK", 10, best_by_input},
};

}  // namespace

std::span<const OperatorRow> reduction_rows() { return reduction_table; }

}  // namespace tyto::onnx
