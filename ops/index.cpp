// SPDX-License-Identifier: MIT
// Operators that pick and place elements by tensors of indices, each the other's gradient.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

// An index tensor into one axis. Only the kernel sees the indices; here it is checked that they can fit at all.
void check_index(std::string_view op, const TensorType& index, const Shape& shape, std::size_t axis) {
  if (index.dtype != DType::i32 && index.dtype != DType::i64) {
    throw_error<TypeError>(op, ": indices must be i32 or i64, not ", index.dtype);
  }
  if (shape[axis] == 0 && element_count(index.shape) > 0) {
    throw_error<IndexError>(op, ": axis ", axis, " of shape ", shape, " is empty, so no index fits it");
  }
}

/// Operator `id` on `leading` and then on the index tensors among a node's inputs. Complex numbers are added part by
/// part, the parts being one axis more behind those that the coordinates name.
T at_coordinates(OpId id, std::initializer_list<Value> leading, std::span<const Value> coordinates) {
  std::vector<Value> operands(leading);
  const bool in_parts = id == OpId::scatter_add && is_complex(operands[0].dtype());
  if (in_parts) std::ranges::transform(operands, operands.begin(), as_parts);
  operands.insert(operands.end(), coordinates.begin(), coordinates.end());
  const Value result = emit(id, NoAttributes{}, operands);
  return in_parts ? of_parts(result) : result;
}

// take

std::vector<TensorType> infer_take(const Attributes& attributes, std::span<const TensorType> inputs) {
  const Shape& x = inputs[0].shape;
  const std::size_t axis = axis_among("take", get<AxisAttributes>(attributes).axis, x);
  check_index("take", inputs[1], x, axis);
  Shape shape(std::span(x.data(), axis));
  for (const std::int64_t length : inputs[1].shape) shape.push_back(length);
  for (std::size_t i = axis + 1; i < x.size(); ++i) shape.push_back(x[i]);
  return one(inputs[0].dtype, shape);
}

/// The order that moves `count` axes at `place` to the front, or (back) the front ones to that place.
IntList to_front(int rank, int place, int count, bool back) {
  IntList order;
  const int begin = back ? count : place, moved = back ? place : count;
  for (int i = 0; i < moved; ++i) order.push_back(begin + i);
  for (int i = 0; i < begin; ++i) order.push_back(i);
  for (int i = begin + moved; i < rank; ++i) order.push_back(i);
  return order;
}

std::vector<Value> take_gradient(const GradientContext& c) {
  std::vector<Value> out(2);
  const Value& x = c.inputs[0];
  if (!is_inexact(x.dtype()) || !c.needed[0]) return out;
  const auto axis = static_cast<int>(get<AxisAttributes>(c.attributes).axis);
  const T g = c.gradients[0];
  const T indices_first = transpose(g, to_front(g.ndim(), axis, c.inputs[1].ndim(), false));
  const T axis_first = transpose(zeros_like(T(x)), to_front(x.ndim(), axis, 1, false));
  const T summed = at_coordinates(OpId::scatter_add, {axis_first, indices_first}, c.inputs.subspan(1));
  out[0] = transpose(summed, to_front(x.ndim(), axis, 1, true));
  return out;
}

std::vector<Value> lower_take(const Attributes& attributes, std::span<const Value> inputs) {
  const T x = inputs[0];
  const auto axis = static_cast<int>(get<AxisAttributes>(attributes).axis);
  const T axis_first = transpose(x, to_front(x.ndim(), axis, 1, false));
  const T picked = emit(OpId::gather, NoAttributes{}, {axis_first, inputs[1]});
  return {transpose(picked, to_front(picked.ndim(), axis, inputs[1].ndim(), true))};
}

// take_along_axis

std::vector<TensorType> infer_take_along_axis(const Attributes& attributes, std::span<const TensorType> inputs) {
  const Shape &x = inputs[0].shape, &index = inputs[1].shape;
  const std::size_t axis = axis_among("take_along_axis", get<AxisAttributes>(attributes).axis, x);
  if (index.size() != x.size()) {
    throw_error<ShapeError>("take_along_axis: indices of shape ", index,
                            " must have as many axes as the tensor of shape ", x);
  }
  check_index("take_along_axis", inputs[1], x, axis);
  Shape others = x, wanted = index;
  others[axis] = wanted[axis] = 1;
  Shape shape = broadcast("take_along_axis", others, wanted);
  shape[axis] = index[axis];
  return one(inputs[0].dtype, shape);
}

/// Coordinates of every element that take_along_axis reads to fill `shape`: `indices` along the axis, else its own.
std::vector<Value> coordinates_along(const Shape& shape, const Value& indices, std::size_t axis) {
  std::vector<Value> coordinates;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) {
      coordinates.push_back(broadcast_to(T(indices), shape));
      continue;
    }
    Shape along(shape.size(), 1);
    along[i] = shape[i];
    const T count = arange_like(indices, shape[i]);
    coordinates.push_back(broadcast_to(reshape(count, along), shape));
  }
  return coordinates;
}

std::vector<Value> take_along_axis_gradient(const GradientContext& c) {
  std::vector<Value> out(2);
  const Value& x = c.inputs[0];
  if (!is_inexact(x.dtype()) || !c.needed[0]) return out;
  const auto axis = static_cast<std::size_t>(get<AxisAttributes>(c.attributes).axis);
  Shape stretched = c.gradients[0].shape();
  stretched[axis] = x.shape()[axis];
  out[0] = sum_to(added_along_axis(stretched, c.inputs[1], c.gradients[0], axis), x.shape());
  return out;
}

std::vector<Value> lower_take_along_axis(const Attributes& attributes, std::span<const Value> inputs) {
  const auto axis = static_cast<std::size_t>(get<AxisAttributes>(attributes).axis);
  const T x = inputs[0];
  const Value& indices = inputs[1];
  Shape others = x.shape(), wanted = indices.shape();
  others[axis] = wanted[axis] = 1;
  Shape shape = broadcast("take_along_axis", others, wanted), stretched = shape;
  shape[axis] = indices.shape()[axis];
  stretched[axis] = x.shape()[axis];
  std::vector<Value> operands = coordinates_along(shape, indices, axis);
  operands.insert(operands.begin(), broadcast_to(x, stretched));
  return {emit(OpId::gather, NoAttributes{}, operands)};
}

// gather, scatter, scatter_add

/// Checks index tensors into x's first axes; gives the shape of what lies at them.
Shape check_coordinates(std::string_view op, const Shape& x, std::span<const TensorType> coordinates) {
  if (coordinates.size() > x.size()) {
    throw_error<IndexError>(op, ": ", coordinates.size(), " index tensors for a tensor of rank ", x.size(), ", shape ",
                            x);
  }
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    check_index(op, coordinates[i], x, i);
    if (coordinates[i].shape != coordinates[0].shape) {
      throw_error<ShapeError>(op, ": index tensors of shapes ", coordinates[0].shape, " and ", coordinates[i].shape,
                              " must have one shape");
    }
  }
  Shape shape = coordinates[0].shape;
  for (std::size_t i = coordinates.size(); i < x.size(); ++i) shape.push_back(x[i]);
  return shape;
}

std::vector<TensorType> infer_gather(const Attributes&, std::span<const TensorType> inputs) {
  return one(inputs[0].dtype, check_coordinates("gather", inputs[0].shape, inputs.subspan(1)));
}

template <OpId id>
std::vector<TensorType> infer_scatter(const Attributes&, std::span<const TensorType> inputs) {
  const std::string_view op = definition(id).name;
  const Shape part = check_coordinates(op, inputs[0].shape, inputs.subspan(2));
  if (inputs[1].shape != part) {
    throw_error<ShapeError>(op, ": values of shape ", inputs[1].shape, " for places of shape ", part);
  }
  if (inputs[1].dtype != inputs[0].dtype) {
    throw_error<TypeError>(op, ": values of ", inputs[1].dtype, " in a tensor of ", inputs[0].dtype);
  }
  return one(inputs[0].dtype, inputs[0].shape);
}

std::vector<Value> gather_gradient(const GradientContext& c) {
  std::vector<Value> out(c.inputs.size());
  if (!is_inexact(c.inputs[0].dtype()) || !c.needed[0]) return out;
  out[0] = at_coordinates(OpId::scatter_add, {zeros_like(T(c.inputs[0])), c.gradients[0]}, c.inputs.subspan(1));
  return out;
}

// Where coordinates repeat, only the value written last has a part in the result. Which ones those are is found by
// scattering each value's number and reading back whose number stayed.
std::vector<Value> scatter_gradient(const GradientContext& c) {
  std::vector<Value> out(c.inputs.size());
  const T g = c.gradients[0], v = c.inputs[1];
  if (!is_inexact(v.dtype())) return out;
  const std::span<const Value> coordinates = c.inputs.subspan(2);
  if (c.needed[0]) out[0] = at_coordinates(OpId::scatter, {g, zeros_like(v)}, coordinates);
  if (c.needed[1]) {
    const Shape& places = coordinates[0].shape();
    const Shape indexed(std::span(c.inputs[0].shape().data(), coordinates.size()));
    const Mode mode = mode_of(coordinates);
    const T blank = emit(mode, OpId::fill, RangeAttributes{indexed, DType::i64, Scalar(0), Scalar(0)});
    const T count =
        emit(mode, OpId::arange, RangeAttributes{{element_count(places)}, DType::i64, Scalar(0), Scalar(1)});
    const T number = reshape(count, places);
    const T owner = at_coordinates(OpId::scatter, {blank, number}, coordinates);
    Shape stayed = places;
    stayed.resize(v.shape().size(), 1);
    const T last = reshape(equal(at_coordinates(OpId::gather, {owner}, coordinates), number), stayed);
    out[1] = where(last, at_coordinates(OpId::gather, {g}, coordinates), 0);
  }
  return out;
}

std::vector<Value> scatter_add_gradient(const GradientContext& c) {
  std::vector<Value> out(c.inputs.size());
  if (!is_inexact(c.inputs[0].dtype())) return out;
  out[0] = c.gradients[0];
  if (c.needed[1]) out[1] = at_coordinates(OpId::gather, {c.gradients[0]}, c.inputs.subspan(2));
  return out;
}

// The product of a place is differentiated by each of its factors: the product of the others. For what was there before
// that is the product of the values; for a value that is not zero the whole over it. For one that is zero it is the
// product of those that are not, times the zero if there is one more, which is the sum of the place's zeros without
// itself, so that it has its gradient; two more of them have gradients of second order, which are left out.
std::vector<Value> scatter_multiply_gradient(const GradientContext& c) {
  std::vector<Value> out(c.inputs.size());
  const T x = c.inputs[0], v = c.inputs[1], g = c.gradients[0];
  if (!is_floating(x.dtype())) return out;
  const std::span<const Value> coordinates = c.inputs.subspan(2);
  if (c.needed[0]) out[0] = g * T(at_coordinates(OpId::scatter_multiply, {ones_like(x), v}, coordinates));
  if (!c.needed[1]) return out;
  const auto there = [&](const T& of) { return T(at_coordinates(OpId::gather, {of}, coordinates)); };
  const auto kept = [](const T& factors, bool zeros, double otherwise) {
    const T is_zero = equal(factors, 0);
    return zeros ? where(is_zero, factors, otherwise) : where(is_zero, otherwise, factors);
  };
  const T is_zero = equal(v, 0);
  const T numbers = there(at_coordinates(OpId::scatter_multiply, {kept(x, false, 1), kept(v, false, 1)}, coordinates));
  const T zeros = there(at_coordinates(OpId::scatter_add, {kept(x, true, 0), kept(v, true, 0)}, coordinates));
  const T count = there(
      at_coordinates(OpId::scatter_add, {cast_to(equal(x, 0), x.dtype()), cast_to(is_zero, v.dtype())}, coordinates));
  const T beside_zero = where(equal(count, 1), numbers, where(equal(count, 2), numbers * (zeros - v), 0));
  out[1] = there(g) * where(is_zero, beside_zero, there(c.results[0]) / kept(v, false, 1));
  return out;
}

// All that equal a place's extreme share its gradient.
std::vector<Value> scatter_extreme_gradient(const GradientContext& c) {
  std::vector<Value> out(c.inputs.size());
  const T x = c.inputs[0], v = c.inputs[1], y = c.results[0];
  if (!is_floating(x.dtype())) return out;
  const std::span<const Value> coordinates = c.inputs.subspan(2);
  const auto there = [&](const T& of) { return T(at_coordinates(OpId::gather, {of}, coordinates)); };
  const T kept = cast_to(equal(x, y), x.dtype()), reached = cast_to(equal(v, there(y)), x.dtype());
  const T ties = at_coordinates(OpId::scatter_add, {kept, reached}, coordinates);
  const T share = c.gradients[0] / where(equal(ties, 0), 1, ties);
  if (c.needed[0]) out[0] = share * kept;
  if (c.needed[1]) out[1] = there(share) * reached;
  return out;
}

/// An operator that changes a tensor at coordinates by values.
template <OpId id>
OpDef scattering(std::string_view doc, GradientRule gradient, std::uint32_t flags = 0) {
  return {.id = id,
          .doc = doc,
          .min_inputs = 3,
          .max_inputs = 1 << 20,
          .traits = traits(flags),
          .in_place = InPlace::update_first_input,
          .infer = infer_scatter<id>,
          .gradient = gradient,
          .sample = [](DType t) -> Value {
            const Value coordinates[] = {samples::positions()};
            return at_coordinates(id, {samples::line(t), samples::line(t)}, coordinates);
          }};
}

}  // namespace

Value added_along_axis(const Shape& shape, const Value& indices, const Value& values, std::size_t axis) {
  const Value zeros = full_like(values, shape, 0, values.dtype());
  return at_coordinates(OpId::scatter_add, {zeros, values}, coordinates_along(values.shape(), indices, axis));
}

std::span<const OpDef> index_operators() {
  static const OpDef rows[] = {
      {.id = OpId::take,
       .doc = "Slices at indices along an axis.",
       .min_inputs = 2,
       .max_inputs = 2,
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_take,
       .gradient = take_gradient,
       .lower = lower_take,
       .sample = [](DType t) -> Value { return take(samples::line(t), samples::positions(), 0); }},
      {.id = OpId::take_along_axis,
       .doc = "One element an index along an axis.",
       .min_inputs = 2,
       .max_inputs = 2,
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_take_along_axis,
       .gradient = take_along_axis_gradient,
       .lower = lower_take_along_axis,
       .sample = [](DType t) -> Value { return take_along_axis(samples::line(t), samples::positions(), 0); }},
      {.id = OpId::gather,
       .doc = "Elements at coordinates.",
       .min_inputs = 2,
       .max_inputs = 1 << 20,
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_gather,
       .gradient = gather_gradient,
       .sample = [](DType t) -> Value { return gather<Lazy>(samples::line(t), {samples::positions()}); }},
      scattering<OpId::scatter>("A tensor with the elements at coordinates replaced.", scatter_gradient,
                                Traits::takes_complex),
      scattering<OpId::scatter_add>("A tensor with values added at coordinates.", scatter_add_gradient),
      scattering<OpId::scatter_multiply>("A tensor with the elements at coordinates multiplied by values.",
                                         scatter_multiply_gradient),
      scattering<OpId::scatter_min>("A tensor with the elements at coordinates replaced by smaller values.",
                                    scatter_extreme_gradient),
      scattering<OpId::scatter_max>("A tensor with the elements at coordinates replaced by larger values.",
                                    scatter_extreme_gradient),
  };
  return rows;
}

namespace {

/// Indices in a type that the kernels read: i32 and i64 as they are, narrower integers and scalars widened.
Value as_indices(std::string_view op, const Value& indices) {
  const Value current = given(op, indices);
  const DType type = current.dtype();
  if (!is_integer(type)) throw_error<TypeError>(op, ": indices must be integers, not ", type);
  return cast_to(current, type == DType::i32 ? DType::i32 : DType::i64);
}

template <class M>
std::vector<Value> as_coordinates(std::string_view op, const std::vector<Tensor<M>>& coordinates) {
  if (coordinates.empty()) throw_error<ValueError>(op, ": no index tensors are given");
  std::vector<Value> out;
  for (const Tensor<M>& indices : coordinates) out.push_back(as_indices(op, indices));
  Shape common = out[0].shape();
  for (const Value& indices : out) common = broadcast(op, common, indices.shape());
  for (Value& indices : out) indices = broadcast_to(T(indices), common);
  return out;
}

/// The tensor itself, in its own element type even if it is a scalar.
Value strong(std::string_view op, const Value& x) { return cast_to(given(op, x), x.dtype()); }

template <class M>
Value place(OpId id, const Tensor<M>& tensor, const std::vector<Tensor<M>>& coordinates, const Value& values) {
  const std::string_view op = definition(id).name;
  const Value x = strong(op, tensor);
  const std::vector<Value> indices = as_coordinates(op, coordinates);
  if (indices.size() > x.shape().size()) {
    throw_error<IndexError>(op, ": ", indices.size(), " index tensors for a tensor of rank ", x.shape().size(),
                            ", shape ", x.shape());
  }
  Shape part = indices[0].shape();
  for (std::size_t i = indices.size(); i < x.shape().size(); ++i) part.push_back(x.shape()[i]);
  const T typed = fitted_to(op, given(op, values), x.dtype());
  if (!broadcastable(typed.shape(), part)) {
    throw_error<ShapeError>(op, ": values of shape ", typed.shape(), " do not broadcast to the places' shape ", part);
  }
  return at_coordinates(id, {x, broadcast_to(typed, part)}, indices);
}

/// As place, for what is made of both the tensor's elements and the values.
template <class M>
Value combine(OpId id, std::string_view how, const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
              const Tensor<M>& values) {
  if (is_inexact(values.dtype()) && !is_inexact(x.dtype())) {
    throw_error<TypeError>(definition(id).name, ": values of ", values.dtype(), " do not ", how, " in a tensor of ",
                           x.dtype(), "; cast one of them");
  }
  return place(id, x, coordinates, values);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> take(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices, std::optional<std::int64_t> axis) {
  core::require("take", x, indices);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("take", axis.value_or(0), source.ndim());
  return emit(OpId::take, core::AxisAttributes{along},
              {core::strong("take", source), core::as_indices("take", indices)});
}

template <class M>
Tensor<M> take_along_axis(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices, std::int64_t axis) {
  core::require("take_along_axis", x, indices);
  const int along = core::normalise_axis("take_along_axis", axis, x.ndim());
  return emit(OpId::take_along_axis, core::AxisAttributes{along}, {x, core::as_indices("take_along_axis", indices)});
}

template <class M>
Tensor<M> gather(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates) {
  TYTO_ONCE(gather, x, coordinates);
  core::require("gather", x);
  std::vector<Value> operands = core::as_coordinates("gather", coordinates);
  operands.insert(operands.begin(), core::strong("gather", x));
  return emit(OpId::gather, core::NoAttributes{}, operands);
}

template <class M>
Tensor<M> scatter(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                  const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(scatter, x, coordinates, values);
  core::require("scatter", x, values);
  return core::place(OpId::scatter, x, coordinates, values);
}

template <class M>
Tensor<M> scatter_add(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                      const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(scatter_add, x, coordinates, values);
  core::require("scatter_add", x, values);
  return core::combine(OpId::scatter_add, "add up", x, coordinates, values);
}

template <class M>
Tensor<M> scatter_multiply(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                           const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(scatter_multiply, x, coordinates, values);
  core::require("scatter_multiply", x, values);
  return core::combine(OpId::scatter_multiply, "multiply", x, coordinates, values);
}

template <class M>
Tensor<M> scatter_min(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                      const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(scatter_min, x, coordinates, values);
  core::require("scatter_min", x, values);
  return core::combine(OpId::scatter_min, "compare", x, coordinates, values);
}

template <class M>
Tensor<M> scatter_max(const Tensor<M>& x, const std::vector<Tensor<M>>& coordinates,
                      const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(scatter_max, x, coordinates, values);
  core::require("scatter_max", x, values);
  return core::combine(OpId::scatter_max, "compare", x, coordinates, values);
}

TYTO_INSTANTIATE(take)
TYTO_INSTANTIATE(take_along_axis)
TYTO_INSTANTIATE(gather)
TYTO_INSTANTIATE(scatter)
TYTO_INSTANTIATE(scatter_add)
TYTO_INSTANTIATE(scatter_multiply)
TYTO_INSTANTIATE(scatter_min)
TYTO_INSTANTIATE(scatter_max)

}  // namespace TYTO_API
