// SPDX-License-Identifier: MIT
// Operators without tensor operands (fill, arange, eye), one_hot, and casts.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

std::vector<TensorType> infer_cast(const Attributes& attributes, std::span<const TensorType> inputs) {
  return one(get<CastAttributes>(attributes).dtype, inputs[0].shape);
}

std::vector<Value> cast_gradient(const GradientContext& c) {
  if (!is_inexact(c.inputs[0].dtype()) || !is_inexact(c.results[0].dtype())) return {Value()};
  return {cast_to(c.gradients[0], c.inputs[0].dtype())};
}

template <OpId id>
std::vector<TensorType> infer_range(const Attributes& attributes, std::span<const TensorType>) {
  const auto& range = get<RangeAttributes>(attributes);
  check_lengths(definition(id).name, range.shape);
  return one(range.dtype, range.shape);
}

std::vector<TensorType> infer_eye(const Attributes& attributes, std::span<const TensorType> inputs) {
  const Shape& shape = get<RangeAttributes>(attributes).shape;
  if (shape.rank() != 2) throw_error<ShapeError>("eye: a matrix has two axes, not shape ", shape);
  return infer_range<OpId::eye>(attributes, inputs);
}

std::vector<TensorType> infer_one_hot(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& list = get<ListAttributes>(attributes).list;
  if (list.size() != 2 || list[0] < 0 || list[1] < 0 || list[1] >= dtype_count) {
    throw_error<ValueError>("one_hot: attributes ", list, " must be a depth from 0 on and an element type");
  }
  if (!is_integer(inputs[0].dtype)) {
    throw_error<TypeError>("one_hot: classes must be integers, not ", inputs[0].dtype);
  }
  Shape shape = inputs[0].shape;
  shape.push_back(list[0]);
  return one(static_cast<DType>(list[1]), shape);
}

}  // namespace

std::span<const OpDef> create_operators() {
  static const OpDef rows[] = {
      {.id = OpId::cast,
       .doc = "Another element type.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_cast,
       .gradient = cast_gradient,
       .sample = [](DType t) -> Value { return cast(samples::line(t), t == DType::f32 ? DType::i32 : DType::f32); }},
      {.id = OpId::fill,
       .doc = "One value everywhere.",
       .min_inputs = 0,
       .max_inputs = 0,
       .traits = traits(Traits::takes_complex),
       .infer = infer_range<OpId::fill>,
       .sample = [](DType t) -> Value { return samples::T::full({2}, 1, t); }},
      {.id = OpId::arange,
       .doc = "Numbers in arithmetic progression.",
       .min_inputs = 0,
       .max_inputs = 0,
       .infer = infer_range<OpId::arange>,
       .sample = [](DType t) -> Value { return samples::T::arange(0, 4, 1, t); }},
      {.id = OpId::eye,
       .doc = "Ones on a diagonal.",
       .min_inputs = 0,
       .max_inputs = 0,
       .infer = infer_eye,
       .sample = [](DType t) -> Value { return samples::T::eye(2, 2, 0, t); }},
      {.id = OpId::one_hot,
       .doc = "A one at the class, zeros elsewhere.",
       .infer = infer_one_hot,
       .sample = [](DType t) -> Value { return one_hot(samples::line(t), 3); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> cast(const Tensor<M>& x, DType dtype) {
  core::require("cast", x);
  return core::cast_to(x, dtype);
}
template <class M>
Tensor<M> one_hot(const Tensor<M>& classes, std::int64_t depth, DType dtype) {
  core::require("one_hot", classes);
  if (depth < 0) core::throw_error<ValueError>("one_hot: depth ", depth, " is negative");
  return core::emit(core::OpId::one_hot, core::ListAttributes{{depth, static_cast<std::int64_t>(dtype)}}, {classes});
}
template <class M>
Tensor<M> full_like(const Tensor<M>& x, const Scalar& value) {
  core::require("full_like", x);
  core::check_holds("full_like", x.dtype(), value);
  const Value& model = core::resolve(x);
  return core::emit(model.node()->mode(), core::OpId::fill, core::RangeAttributes{x.shape(), x.dtype(), value, 0});
}
template <class M>
Tensor<M> zeros_like(const Tensor<M>& x) {
  core::require("zeros_like", x);
  return full_like(x, 0);
}
template <class M>
Tensor<M> ones_like(const Tensor<M>& x) {
  core::require("ones_like", x);
  return full_like(x, 1);
}
TYTO_INSTANTIATE(cast)
TYTO_INSTANTIATE(one_hot)
TYTO_INSTANTIATE(full_like)
TYTO_INSTANTIATE(zeros_like)
TYTO_INSTANTIATE(ones_like)

}  // namespace TYTO_API
