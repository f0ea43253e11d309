// SPDX-License-Identifier: MIT
// Operators that compare elements with each other: sorting, the k first, searching and counting.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/choosing.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_sort(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("sort", get<SortAttributes>(attributes).axis, inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}

std::vector<TensorType> infer_argsort(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("argsort", get<SortAttributes>(attributes).axis, inputs[0].shape);
  return one(DType::i64, inputs[0].shape);
}

std::vector<TensorType> infer_topk(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& top = get<TopkAttributes>(attributes);
  Shape shape = inputs[0].shape;
  const std::size_t axis = axis_among("topk", top.axis, shape);
  if (top.k < 0 || top.k > shape[axis]) {
    throw_error<ValueError>("topk: k = ", top.k, " is outside [0, ", shape[axis], "], the length of axis ", axis,
                            " of shape ", shape);
  }
  shape[axis] = top.k;
  return {TensorType{inputs[0].dtype, shape, false}, TensorType{DType::i64, shape, false}};
}

const TopkAttributes& partition_of(std::string_view op, const Attributes& attributes, const Shape& shape) {
  const auto& around = get<TopkAttributes>(attributes);
  const std::int64_t length = shape[axis_among(op, around.axis, shape)];
  if (around.k < 0 || around.k >= length) {
    throw_error<IndexError>(op, ": element ", around.k, " is outside axis ", around.axis, " of length ", length);
  }
  return around;
}

std::vector<TensorType> infer_partition(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)partition_of("partition", attributes, inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}
std::vector<TensorType> infer_argpartition(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)partition_of("argpartition", attributes, inputs[0].shape);
  return one(DType::i64, inputs[0].shape);
}

std::vector<TensorType> infer_order_statistics(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& ranks = get<ListAttributes>(attributes).list;
  Shape shape = inputs[0].shape;
  const std::size_t axis = axis_among("order_statistics", shape.rank() - 1, shape);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < (i == 0 ? 0 : ranks[i - 1]) || ranks[i] >= shape[axis]) {
      throw_error<ValueError>("order_statistics: ranks ", ranks, " must ascend within the last axis of shape ", shape);
    }
  }
  shape[axis] = static_cast<std::int64_t>(ranks.size());
  return one(inputs[0].dtype, shape);
}

void check_same_type(std::string_view op, std::span<const TensorType> inputs) {
  if (inputs[0].dtype != inputs[1].dtype) {
    throw_error<TypeError>(op, ": inputs of types ", inputs[0].dtype, " and ", inputs[1].dtype, " must have one type");
  }
}

std::vector<TensorType> infer_searchsorted(const Attributes&, std::span<const TensorType> inputs) {
  check_same_type("searchsorted", inputs);
  if (inputs[0].shape.rank() != 1) {
    throw_error<ShapeError>("searchsorted: what is searched must be a vector, not of shape ", inputs[0].shape);
  }
  return one(DType::i64, inputs[1].shape);
}

std::vector<TensorType> infer_histogram(const Attributes&, std::span<const TensorType> inputs) {
  check_same_type("histogram", inputs);
  if (inputs[1].shape.rank() != 1 || inputs[1].shape[0] < 2) {
    throw_error<ShapeError>("histogram: edges must be a vector of two or more, not of shape ", inputs[1].shape);
  }
  return one(DType::i64, {inputs[1].shape[0] - 1});
}

// Sorting is reading in the order that sorts, so the gradient goes back to where each element was read.
std::vector<Value> sort_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const auto& attributes = get<SortAttributes>(c.attributes);
  const Value order = emit(OpId::argsort, attributes, {x});
  return {added_along_axis(x.shape(), order, c.gradients[0], static_cast<std::size_t>(attributes.axis))};
}

std::vector<Value> topk_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype()) || !c.gradients[0]) return {Value()};
  const auto axis = static_cast<std::size_t>(get<TopkAttributes>(c.attributes).axis);
  return {added_along_axis(x.shape(), c.results[1], c.gradients[0], axis)};
}

T ranked(const T& sorted, const IntList& ranks) {
  const auto axis = static_cast<std::size_t>(sorted.ndim()) - 1;
  if (ranks.empty()) return part_along(sorted, axis, 0, 0);
  std::vector<T> parts;
  for (const std::int64_t rank : ranks) parts.push_back(part_along(sorted, axis, rank, 1));
  return concat(parts, -1);
}

std::vector<Value> order_statistics_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const auto axis = static_cast<std::size_t>(x.ndim()) - 1;
  const Value order = emit(OpId::argsort, SortAttributes{static_cast<std::int64_t>(axis)}, {x});
  return {added_along_axis(x.shape(), ranked(order, get<ListAttributes>(c.attributes).list), c.gradients[0], axis)};
}

std::vector<Value> lower_order_statistics(const Attributes& attributes, std::span<const Value> inputs) {
  return {ranked(sort(T(inputs[0]), -1), get<ListAttributes>(attributes).list)};
}

std::vector<Value> partition_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const auto& around = get<TopkAttributes>(c.attributes);
  const Value order = emit(OpId::argpartition, around, {x});
  return {added_along_axis(x.shape(), order, c.gradients[0], static_cast<std::size_t>(around.axis))};
}

std::vector<Value> lower_partition(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& around = get<TopkAttributes>(attributes);
  const T order = emit(OpId::argpartition, around, {inputs[0]});
  return {take_along_axis(T(inputs[0]), order, around.axis)};
}

// A stable sort by whether elements are below the k-th, equal to it or above. NaN is above all numbers.
std::vector<Value> lower_argpartition(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& around = get<TopkAttributes>(attributes);
  const T x = inputs[0];
  const T middle = part_along(sort(x, around.axis), static_cast<std::size_t>(around.axis), around.k, 1);
  const T below = less(x, middle) || (isnan(middle) && !isnan(x));
  const T equals = equal(x, middle) || (isnan(middle) && isnan(x));
  return {argsort(where(below, 0, where(equals, 1, 2)), around.axis).value()};
}

std::vector<Value> lower_sort(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& sorted = get<SortAttributes>(attributes);
  const T order = emit(OpId::argsort, sorted, {inputs[0]});
  return {take_along_axis(T(inputs[0]), order, sorted.axis)};
}

std::vector<Value> lower_topk(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& top = get<TopkAttributes>(attributes);
  const Value order = emit(OpId::argsort, SortAttributes{top.axis, top.largest}, {inputs[0]});
  const T first = part_along(order, static_cast<std::size_t>(top.axis), 0, top.k);
  return {take_along_axis(T(inputs[0]), first, top.axis), first};
}

}  // namespace

std::span<const OpDef> sort_operators() {
  static const OpDef rows[] = {
      {.id = OpId::sort,
       .doc = "In ascending or descending order along an axis.",
       .infer = infer_sort,
       .gradient = sort_gradient,
       .lower = lower_sort,
       .sample = [](DType t) -> Value { return sort(samples::line(t)); }},
      {.id = OpId::argsort,
       .doc = "The order that sorts.",
       .infer = infer_argsort,
       .sample = [](DType t) -> Value { return argsort(samples::line(t)); }},
      {.id = OpId::topk,
       .doc = "The k largest or smallest along an axis, and their positions.",
       .results = 2,
       .infer = infer_topk,
       .gradient = topk_gradient,
       .lower = lower_topk,
       .sample = [](DType t) -> Value { return topk(samples::line(t), 2).values; }},
      {.id = OpId::order_statistics,
       .doc = "Elements of given ranks in the sorted last axis.",
       .infer = infer_order_statistics,
       .gradient = order_statistics_gradient,
       .lower = lower_order_statistics,
       .sample = [](DType t) -> Value {
         return emit(OpId::order_statistics, ListAttributes{{1, 2}}, {as_floating(samples::line(t))});
       }},
      {.id = OpId::partition,
       .doc = "Those below the k-th along an axis, those equal to it, those above, each in their order.",
       .infer = infer_partition,
       .gradient = partition_gradient,
       .lower = lower_partition,
       .sample = [](DType t) -> Value { return partition(samples::line(t), 1); }},
      {.id = OpId::argpartition,
       .doc = "The order that partitions.",
       .infer = infer_argpartition,
       .lower = lower_argpartition,
       .sample = [](DType t) -> Value { return argpartition(samples::line(t), 1); }},
      {.id = OpId::searchsorted,
       .doc = "Where values fit into an ascending vector.",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_searchsorted,
       .sample = [](DType t) -> Value { return searchsorted(samples::line(t), samples::line(t)); }},
      {.id = OpId::histogram,
       .doc = "Counts of elements between ascending edges.",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_histogram,
       .sample = [](DType t) -> Value { return histogram(samples::line(t), samples::line(t)); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> sort(const Tensor<M>& x, Axis axis, Flag descending) {
  core::require("sort", x);
  const int along = core::normalise_axis("sort", axis, x.ndim());
  if (core::has_single_lines(x, along)) return core::resolve(x);
  return emit(OpId::sort, core::SortAttributes{along, descending}, {x});
}

template <class M>
Tensor<M> argsort(const Tensor<M>& x, Axis axis, Flag descending) {
  core::require("argsort", x);
  const int along = core::normalise_axis("argsort", axis, x.ndim());
  if (core::has_single_lines(x, along)) return core::full_like(x, x.shape(), 0, DType::i64);
  return emit(OpId::argsort, core::SortAttributes{along, descending}, {x});
}

template <class M>
TopK<M> topk(const Tensor<M>& x, std::int64_t k, Axis axis, Flag largest) {
  TYTO_ONCE(topk, x, k, axis, largest);
  core::require("topk", x);
  const core::TopkAttributes attributes{core::normalise_axis("topk", axis, x.ndim()), k, largest};
  if (k == 1 && core::has_single_lines(x, static_cast<int>(attributes.axis))) {
    return {core::resolve(x), core::full_like(x, x.shape(), 0, DType::i64)};
  }
  const Value values = emit(OpId::topk, attributes, {x});
  return {values, core::result(values, 1)};
}

namespace {

template <class M>
Tensor<M> around_kth(OpId op, std::string_view name, const Tensor<M>& x, std::int64_t kth, std::int64_t axis) {
  core::require(name, x);
  const int along = core::normalise_axis(name, axis, x.ndim());
  const std::int64_t length = x.shape()[static_cast<std::size_t>(along)];
  return emit(op, core::TopkAttributes{along, kth < 0 && kth >= -length ? kth + length : kth, false}, {x});
}

}  // namespace

template <class M>
Tensor<M> partition(const Tensor<M>& x, std::int64_t kth, std::int64_t axis) {
  return around_kth(OpId::partition, "partition", x, kth, axis);
}
template <class M>
Tensor<M> argpartition(const Tensor<M>& x, std::int64_t kth, std::int64_t axis) {
  return around_kth(OpId::argpartition, "argpartition", x, kth, axis);
}

template <class M>
Tensor<M> searchsorted(const Tensor<M>& sorted, const std::type_identity_t<Tensor<M>>& values, Flag right) {
  TYTO_ONCE(searchsorted, sorted, values, right);
  const Value operands[] = {core::given("searchsorted", sorted), core::given("searchsorted", values)};
  const DType type = core::comparable_type(operands);
  return emit(OpId::searchsorted, core::SearchAttributes{right},
              {core::cast_to(operands[0], type), core::cast_to(operands[1], type)});
}

template <class M>
Tensor<M> histogram(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges) {
  TYTO_ONCE(histogram, x, edges);
  const Value operands[] = {core::given("histogram", x), core::given("histogram", edges)};
  const DType type = core::comparable_type(operands);
  return emit(OpId::histogram, core::NoAttributes{},
              {core::cast_to(operands[0], type), core::cast_to(operands[1], type)});
}

TYTO_INSTANTIATE(sort)
TYTO_INSTANTIATE(argsort)
TYTO_INSTANTIATE(topk)
TYTO_INSTANTIATE(partition)
TYTO_INSTANTIATE(argpartition)
TYTO_INSTANTIATE(searchsorted)
TYTO_INSTANTIATE(histogram)

}  // namespace TYTO_API
