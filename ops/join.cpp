// SPDX-License-Identifier: MIT
// Joining: concat and set_slice, and what is made of them and of views: stack, split, meshgrid.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

// set_slice

std::vector<TensorType> infer_set_slice(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& part = get<SliceAttributes>(attributes);
  const Shape& shape = inputs[0].shape;
  check_part("set_slice", part, shape);
  if (inputs[1].shape != part.count) {
    throw_error<ShapeError>("set_slice: a value of shape ", inputs[1].shape, " cannot replace a part of shape ",
                            part.count);
  }
  if (inputs[1].dtype != inputs[0].dtype) {
    throw_error<TypeError>("set_slice: a value of ", inputs[1].dtype, " in a tensor of ", inputs[0].dtype);
  }
  return one(inputs[0].dtype, shape);
}

std::vector<Value> set_slice_gradient(const GradientContext& c) {
  const auto& part = get<SliceAttributes>(c.attributes);
  std::vector<Value> out(2);
  if (c.needed[0]) out[0] = emit(OpId::set_slice, part, {c.gradients[0], zeros_like(T(c.inputs[1]))});
  if (c.needed[1]) out[1] = emit(OpId::slice, part, {c.gradients[0]});
  return out;
}

// concat

std::vector<TensorType> infer_concat(const Attributes& attributes, std::span<const TensorType> inputs) {
  Shape shape = inputs[0].shape;
  const std::size_t axis = axis_among("concat", get<AxisAttributes>(attributes).axis, shape);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Shape other = inputs[i].shape;
    if (inputs[i].dtype != inputs[0].dtype) {
      throw_error<TypeError>("concat: parts of types ", inputs[0].dtype, " and ", inputs[i].dtype);
    }
    if (other.size() == shape.size()) {
      const std::int64_t length = other[axis];
      other[axis] = inputs[0].shape[axis];
      if (other == inputs[0].shape) {
        shape[axis] = checked_sum("concat", shape[axis], length);
        continue;
      }
    }
    throw_error<ShapeError>("concat: parts of shapes ", inputs[0].shape, " and ", inputs[i].shape,
                            " must agree but for axis ", axis);
  }
  return one(inputs[0].dtype, shape);
}

std::vector<Value> concat_gradient(const GradientContext& c) {
  const auto axis = static_cast<std::size_t>(get<AxisAttributes>(c.attributes).axis);
  std::vector<Value> out(c.inputs.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const std::int64_t length = c.inputs[i].shape()[axis];
    if (c.needed[i]) out[i] = part_along(c.gradients[0], axis, start, length);
    start += length;
  }
  return out;
}

}  // namespace

std::span<const OpDef> join_operators() {
  static const OpDef rows[] = {
      {.id = OpId::set_slice,
       .doc = "A tensor with a regular part replaced.",
       .min_inputs = 2,
       .max_inputs = 2,
       .traits = traits(Traits::takes_complex),
       .in_place = InPlace::update_first_input,
       .infer = infer_set_slice,
       .gradient = set_slice_gradient,
       .sample = [](DType t) -> Value { return set(samples::line(t), {tyto::slice(1, 3)}, samples::T::ones({2}, t)); }},
      {.id = OpId::concat,
       .doc = "Tensors joined along an axis.",
       .max_inputs = 1 << 20,
       .traits = traits(Traits::takes_complex),
       .infer = infer_concat,
       .gradient = concat_gradient,
       .sample = [](DType t) -> Value {
         return concat<Lazy>({samples::line(t), samples::line(t)});
       }},
  };
  return rows;
}

namespace {

/// Operands in their common type.
std::vector<Value> in_one_type(std::string_view op, std::vector<Value> operands) {
  for (Value& operand : operands) operand = Value(given(op, operand));
  const DType type = common_type(operands);
  for (Value& operand : operands) operand = cast_to(operand, type);
  return operands;
}

Value join(std::vector<Value> parts, std::int64_t axis) {
  if (parts.empty()) throw ValueError("concat: no parts are given");
  parts = in_one_type("concat", std::move(parts));
  return emit(OpId::concat, AxisAttributes{normalise_axis("concat", axis, parts[0].ndim())}, parts);
}

Value join_along_new_axis(std::vector<Value> parts, std::int64_t axis) {
  if (parts.empty()) throw ValueError("stack: no parts are given");
  parts = in_one_type("stack", std::move(parts));
  const Shape& shape = parts[0].shape();
  const int place = normalise_axis("stack", axis, shape.rank() + 1);
  for (Value& part : parts) {
    if (part.shape() != shape) {
      throw_error<ShapeError>("stack: parts of shapes ", shape, " and ", part.shape(), " must have one shape");
    }
  }
  Shape wider = shape;
  wider.insert(static_cast<std::size_t>(place), 1);
  for (Value& part : parts) part = emit(OpId::reshape, ListAttributes{wider}, {part});
  return emit(OpId::concat, AxisAttributes{place}, parts);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> concat(const std::vector<Tensor<M>>& parts, std::int64_t axis) {
  return core::join({parts.begin(), parts.end()}, axis);
}

template <class M>
Tensor<M> stack(const std::vector<Tensor<M>>& parts, std::int64_t axis) {
  return core::join_along_new_axis({parts.begin(), parts.end()}, axis);
}

template <class M>
Tensor<M> narrow(const Tensor<M>& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  core::require("narrow", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("narrow", axis, x.ndim()));
  const std::int64_t length = x.shape()[along];
  const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + length : at, 0, length); };
  const std::int64_t first = inside(begin);
  const std::int64_t count = std::max<std::int64_t>(inside(end) - first, 0);
  const Value now = core::given("narrow", x);
  return count == length ? now : core::part_along(now, along, first, count);
}

template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, std::int64_t parts, std::int64_t axis) {
  TYTO_ONCE(split, x, parts, axis);
  core::require("split", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("split", axis, x.ndim()));
  const std::int64_t length = x.shape()[along];
  if (parts <= 0) core::throw_error<ValueError>("split: ", parts, " parts are asked for; at least one is needed");
  if (length % parts != 0) {
    core::throw_error<ShapeError>("split: axis ", along, " of length ", length, " does not divide into ", parts,
                                  " equal parts; name the positions instead");
  }
  std::vector<Tensor<M>> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    out.emplace_back(core::part_along(x, along, i * (length / parts), length / parts));
  }
  return out;
}

template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, const IntList& positions, std::int64_t axis) {
  TYTO_ONCE(split, x, positions, axis);
  core::require("split", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("split", axis, x.ndim()));
  const std::int64_t length = x.shape()[along];
  std::vector<Tensor<M>> out;
  std::int64_t start = 0;
  const auto cut = [&](std::int64_t position) {
    const std::int64_t end = std::clamp<std::int64_t>(position < 0 ? position + length : position, 0, length);
    out.emplace_back(core::part_along(x, along, start, std::max<std::int64_t>(end - start, 0)));
    start = end;
  };
  for (const std::int64_t position : positions) cut(position);
  cut(length);
  return out;
}

template <class M>
std::vector<Tensor<M>> meshgrid(const std::vector<Tensor<M>>& axes) {
  TYTO_ONCE(meshgrid, axes);
  Shape shape;
  for (const Tensor<M>& axis : axes) {
    core::require("meshgrid", axis);
    if (axis.ndim() > 1) core::throw_error<ShapeError>("meshgrid: axes must be vectors, not of shape ", axis.shape());
    shape.push_back(axis.size());
  }
  std::vector<Tensor<M>> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Shape along(axes.size(), 1);
    along[i] = shape[i];
    out.push_back(broadcast_to(reshape(axes[i], along), shape));
  }
  return out;
}

TYTO_INSTANTIATE(narrow)
#define TYTO_INSTANTIATE_PARTS(M)                                                            \
  template Tensor<M> concat(const std::vector<Tensor<M>>&, std::int64_t);                    \
  template Tensor<M> stack(const std::vector<Tensor<M>>&, std::int64_t);                     \
  template std::vector<Tensor<M>> meshgrid(const std::vector<Tensor<M>>&);                   \
  template std::vector<Tensor<M>> split(const Tensor<M>&, std::int64_t parts, std::int64_t); \
  template std::vector<Tensor<M>> split(const Tensor<M>&, const IntList& positions, std::int64_t);
TYTO_INSTANTIATE_PARTS(Eager)
TYTO_INSTANTIATE_PARTS(Lazy)
TYTO_INSTANTIATE_PARTS(Any)
#undef TYTO_INSTANTIATE_PARTS

}  // namespace TYTO_API
