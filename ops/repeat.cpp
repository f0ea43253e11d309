// SPDX-License-Identifier: MIT
// The same elements again, or further on: tile, repeat and roll.
#include <algorithm>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

// tile and repeat: the result, seen with an axis of its own for the copies, is x stretched along that axis.

std::vector<TensorType> infer_tile(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& counts = get<ListAttributes>(attributes).list;
  Shape shape = inputs[0].shape;
  check_entries("tile", "counts", counts, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (counts[i] < 0) throw_error<ValueError>("tile: counts ", counts, " hold a negative one");
    shape[i] = checked_product(shape[i], counts[i]);
  }
  return one(inputs[0].dtype, shape);
}

/// For tile: x's axes with ones before each, the same with the counts there, and the axes of the counts.
struct Interleaved {
  Shape single, counted;
  IntList axes;
};

Interleaved interleave(const IntList& counts, const Shape& shape) {
  Interleaved out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out.single.push_back(1);
    out.counted.push_back(counts[i]);
    out.axes.push_back(static_cast<std::int64_t>(2 * i));
    out.single.push_back(shape[i]);
    out.counted.push_back(shape[i]);
  }
  return out;
}

std::vector<Value> tile_gradient(const GradientContext& c) {
  const Interleaved seen = interleave(get<ListAttributes>(c.attributes).list, c.inputs[0].shape());
  return {sum(reshape(T(c.gradients[0]), seen.counted), seen.axes)};
}

std::vector<Value> lower_tile(const Attributes& attributes, std::span<const Value> inputs) {
  const T x = inputs[0];
  const Interleaved seen = interleave(get<ListAttributes>(attributes).list, x.shape());
  const Shape shape = infer_tile(attributes, {{TensorType{x.dtype(), x.shape(), false}}})[0].shape;
  return {reshape(broadcast_to(reshape(x, seen.single), seen.counted), shape)};
}

std::vector<TensorType> infer_repeat(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& list = get<ListAttributes>(attributes).list;
  Shape shape = inputs[0].shape;
  if (list.size() != 2) throw_error<ShapeError>("repeat: attributes ", list, " must be a count and an axis");
  const std::size_t axis = axis_among("repeat", list[1], shape);
  if (list[0] < 0) throw_error<ValueError>("repeat: count ", list[0], " is negative");
  shape[axis] = checked_product(shape[axis], list[0]);
  return one(inputs[0].dtype, shape);
}

std::vector<Value> repeat_gradient(const GradientContext& c) {
  const IntList& list = get<ListAttributes>(c.attributes).list;
  Shape counted = c.inputs[0].shape();
  counted.insert(static_cast<std::size_t>(list[1]) + 1, list[0]);
  return {sum(reshape(T(c.gradients[0]), counted), Axes(list[1] + 1))};
}

std::vector<Value> lower_repeat(const Attributes& attributes, std::span<const Value> inputs) {
  const IntList& list = get<ListAttributes>(attributes).list;
  const T x = inputs[0];
  const auto axis = static_cast<std::size_t>(list[1]);
  Shape single = x.shape(), counted = x.shape(), shape = x.shape();
  single.insert(axis + 1, 1);
  counted.insert(axis + 1, list[0]);
  shape[axis] *= list[0];
  return {reshape(broadcast_to(reshape(x, single), counted), shape)};
}

// roll

std::vector<TensorType> infer_roll(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_entries("roll", "shifts", get<ListAttributes>(attributes).list, inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}

/// A shift as the kernels want it: in [0, length).
std::int64_t wrapped(std::int64_t shift, std::int64_t length) {
  if (length == 0) return 0;
  const std::int64_t rest = shift % length;
  return rest < 0 ? rest + length : rest;
}

std::vector<Value> roll_gradient(const GradientContext& c) {
  const IntList& shifts = get<ListAttributes>(c.attributes).list;
  const Shape& shape = c.inputs[0].shape();
  IntList back;
  for (std::size_t i = 0; i < shape.size(); ++i) back.push_back(wrapped(-wrapped(shifts[i], shape[i]), shape[i]));
  return {emit(OpId::roll, ListAttributes{back}, {c.gradients[0]})};
}

std::vector<Value> lower_roll(const Attributes& attributes, std::span<const Value> inputs) {
  T x = inputs[0];
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const std::int64_t length = x.shape()[i], shift = wrapped(get<ListAttributes>(attributes).list[i], length);
    if (shift == 0) continue;
    x = concat<Any>({part_along(x, i, length - shift, shift), part_along(x, i, 0, length - shift)},
                    static_cast<std::int64_t>(i));
  }
  return {x};
}

}  // namespace

std::span<const OpDef> repeat_operators() {
  static const OpDef rows[] = {
      {.id = OpId::tile,
       .doc = "The whole repeated along each axis.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_tile,
       .gradient = tile_gradient,
       .lower = lower_tile,
       .sample = [](DType t) -> Value { return tile(samples::line(t), {2}); }},
      {.id = OpId::repeat,
       .doc = "Each element repeated along an axis.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_repeat,
       .gradient = repeat_gradient,
       .lower = lower_repeat,
       .sample = [](DType t) -> Value { return repeat(samples::line(t), 2); }},
      {.id = OpId::roll,
       .doc = "Elements shifted round.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_roll,
       .gradient = roll_gradient,
       .lower = lower_roll,
       .sample = [](DType t) -> Value { return roll(samples::line(t), {1}); }},
  };
  return rows;
}

namespace {

Value shifted_round(const Value& x, const IntList& shift, const Axes& axes) {
  if (axes.all()) {
    if (shift.size() != 1) throw_error<ValueError>("roll: shifts ", shift, " need as many axes, none are given");
    const T flat = ravel(T(x));
    return reshape(T(emit(OpId::roll, ListAttributes{{wrapped(shift[0], flat.size())}}, {flat})), x.shape());
  }
  const std::size_t count = std::max(shift.size(), axes.list().size());
  if ((shift.size() != count && shift.size() != 1) || (axes.list().size() != count && axes.list().size() != 1)) {
    throw_error<ValueError>("roll: ", shift.size(), " shifts ", shift, " for ", axes.list().size(), " axes ",
                            axes.list());
  }
  IntList total(x.shape().size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t axis = axes.list()[axes.list().size() == 1 ? 0 : i];
    const auto place = static_cast<std::size_t>(normalise_axis("roll", axis, x.ndim()));
    const std::int64_t length = x.shape()[place];
    total[place] = wrapped(total[place] + wrapped(shift[shift.size() == 1 ? 0 : i], length), length);
  }
  return emit(OpId::roll, ListAttributes{total}, {x});
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> tile(const Tensor<M>& x, const IntList& counts) {
  TYTO_ONCE(tile, x, counts);
  core::require("tile", x);
  // The shorter of shape and counts is filled up with ones in front.
  Shape shape = x.shape();
  IntList copies = counts;
  while (shape.size() < copies.size()) shape.insert(0, 1);
  while (copies.size() < shape.size()) copies.insert(0, 1);
  // Copies along an axis of length 1 are that axis stretched, which stores none of them.
  IntList stretched(shape.size(), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1 && copies[i] > 1) std::swap(copies[i], stretched[i]);
  }
  Tensor<M> tiled = reshape(x, shape);
  if (std::ranges::any_of(copies, [](std::int64_t count) { return count != 1; })) {
    tiled = emit(OpId::tile, core::ListAttributes{std::move(copies)}, {tiled});
  }
  shape = tiled.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] *= stretched[i];
  return broadcast_to(tiled, shape);
}

template <class M>
Tensor<M> repeat(const Tensor<M>& x, std::int64_t count, std::optional<std::int64_t> axis) {
  TYTO_ONCE(repeat, x, count, axis);
  core::require("repeat", x);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("repeat", axis.value_or(0), source.ndim());
  Shape shape = source.shape();
  if (shape[static_cast<std::size_t>(along)] == 1 && count > 1) {
    shape[static_cast<std::size_t>(along)] = count;
    return broadcast_to(source, shape);
  }
  return emit(OpId::repeat, core::ListAttributes{{count, along}}, {source});
}

template <class M>
Tensor<M> roll(const Tensor<M>& x, const IntList& shift, const Axes& axes) {
  return core::shifted_round(core::given("roll", x), shift, axes);
}

TYTO_INSTANTIATE(tile)
TYTO_INSTANTIATE(repeat)
TYTO_INSTANTIATE(roll)

}  // namespace TYTO_API
