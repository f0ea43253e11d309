// Operators that compare elements with each other: sorting, the k first, searching and counting.
#include "core/op_ids.hpp"
#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_sort(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("sort", get<AxisAttributes>(attributes).axis, inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}

std::vector<TensorType> infer_argsort(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("argsort", get<AxisAttributes>(attributes).axis, inputs[0].shape);
  return one(DType::i64, inputs[0].shape);
}

std::vector<TensorType> infer_topk(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& top = get<TopkAttributes>(attributes);
  Shape shape = inputs[0].shape;
  const std::size_t axis = axis_among("topk", top.axis, shape);
  if (top.k < 0 || top.k > shape[axis]) {
    throw ValueError(text("topk: k = ", top.k, " is outside [0, ", shape[axis], "], the length of axis ", axis,
                          " of shape ", shape));
  }
  shape[axis] = top.k;
  return {TensorType{inputs[0].dtype, shape, false}, TensorType{DType::i64, shape, false}};
}

void check_same_type(std::string_view op, std::span<const TensorType> inputs) {
  if (inputs[0].dtype != inputs[1].dtype) {
    throw TypeError(text(op, ": inputs of types ", inputs[0].dtype, " and ", inputs[1].dtype, " must have one type"));
  }
}

std::vector<TensorType> infer_searchsorted(const Attributes&, std::span<const TensorType> inputs) {
  check_same_type("searchsorted", inputs);
  if (inputs[0].shape.rank() != 1) {
    throw ShapeError(text("searchsorted: what is searched must be a vector, not of shape ", inputs[0].shape));
  }
  return one(DType::i64, inputs[1].shape);
}

std::vector<TensorType> infer_histogram(const Attributes&, std::span<const TensorType> inputs) {
  check_same_type("histogram", inputs);
  if (inputs[1].shape.rank() != 1 || inputs[1].shape[0] < 2) {
    throw ShapeError(text("histogram: edges must be a vector of two or more, not of shape ", inputs[1].shape));
  }
  return one(DType::i64, {inputs[1].shape[0] - 1});
}

// Sorting is reading in the order that sorts, so the gradient goes back to where each element was read.
std::vector<Value> sort_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const auto& attributes = get<AxisAttributes>(c.attributes);
  const Value order = emit(OpId::argsort, attributes, {x});
  return {added_along_axis(x.shape(), order, c.gradients[0], static_cast<std::size_t>(attributes.axis))};
}

std::vector<Value> topk_gradient(const GradientContext& c) {
  const Value& x = c.inputs[0];
  if (!is_floating(x.dtype()) || !c.gradients[0]) return {Value()};
  const auto axis = static_cast<std::size_t>(get<TopkAttributes>(c.attributes).axis);
  return {added_along_axis(x.shape(), c.results[1], c.gradients[0], axis)};
}

std::vector<Value> lower_sort(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& sorted = get<AxisAttributes>(attributes);
  const T order = emit(OpId::argsort, sorted, {inputs[0]});
  return {take_along_axis(T(inputs[0]), order, sorted.axis)};
}

std::vector<Value> lower_topk(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& top = get<TopkAttributes>(attributes);
  const Value order = emit(OpId::argsort, AxisAttributes{top.axis, top.largest}, {inputs[0]});
  const T first = part_along(order, static_cast<std::size_t>(top.axis), 0, top.k);
  return {take_along_axis(T(inputs[0]), first, top.axis), first};
}

}  // namespace

std::span<const OpDef> sort_operators() {
  static const OpDef rows[] = {
      {.id = OpId::sort,
       .name = "sort",
       .doc = "In ascending or descending order along an axis.",
       .infer = infer_sort,
       .gradient = sort_gradient,
       .lower = lower_sort},
      {.id = OpId::argsort, .name = "argsort", .doc = "The order that sorts.", .infer = infer_argsort},
      {.id = OpId::topk,
       .name = "topk",
       .doc = "The k largest or smallest along an axis, and their positions.",
       .results = 2,
       .infer = infer_topk,
       .gradient = topk_gradient,
       .lower = lower_topk},
      {.id = OpId::searchsorted,
       .name = "searchsorted",
       .doc = "Where values fit into an ascending vector.",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_searchsorted},
      {.id = OpId::histogram,
       .name = "histogram",
       .doc = "Counts of elements between ascending edges.",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_histogram},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> sort(const Tensor<M>& x, std::int64_t axis, bool descending) {
  core::require("sort", x);
  return emit(OpId::sort, core::AxisAttributes{core::normalise_axis("sort", axis, x.ndim()), descending}, {x});
}

template <class M>
Tensor<M> argsort(const Tensor<M>& x, std::int64_t axis, bool descending) {
  core::require("argsort", x);
  return emit(OpId::argsort, core::AxisAttributes{core::normalise_axis("argsort", axis, x.ndim()), descending}, {x});
}

template <class M>
TopK<M> topk(const Tensor<M>& x, std::int64_t k, std::int64_t axis, bool largest) {
  core::require("topk", x);
  const core::TopkAttributes attributes{core::normalise_axis("topk", axis, x.ndim()), k, largest};
  const Value values = emit(OpId::topk, attributes, {x});
  return {values, core::result(values, 1)};
}

template <class M>
Tensor<M> searchsorted(const Tensor<M>& sorted, const std::type_identity_t<Tensor<M>>& values, bool right) {
  const Value operands[] = {core::given("searchsorted", sorted), core::given("searchsorted", values)};
  const DType type = core::comparable_type(operands);
  return emit(OpId::searchsorted, core::AxisAttributes{0, right},
              {core::cast_to(operands[0], type), core::cast_to(operands[1], type)});
}

template <class M>
Tensor<M> histogram(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& edges) {
  const Value operands[] = {core::given("histogram", x), core::given("histogram", edges)};
  const DType type = core::comparable_type(operands);
  return emit(OpId::histogram, core::NoAttributes{},
              {core::cast_to(operands[0], type), core::cast_to(operands[1], type)});
}

TYTO_INSTANTIATE(sort)
TYTO_INSTANTIATE(argsort)
TYTO_INSTANTIATE(topk)
TYTO_INSTANTIATE(searchsorted)
TYTO_INSTANTIATE(histogram)

}  // namespace TYTO_API
