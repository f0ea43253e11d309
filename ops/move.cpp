// Operators that put elements in other places and compute nothing: joining, repeating, rolling, padding, triangles.
#include <limits>

#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

void require(std::string_view function, const Value& operand) {
  if (!operand) throw GraphError(text(function, ": an operand is an empty tensor"));
}

const Value& given(std::string_view op, const Value& operand) {
  require(op, operand);
  return resolve(operand);
}

Mode mode_beside(const Value& value) { return mode_of({&resolve(value), 1}); }

Value part_along(const Value& x, std::size_t axis, std::int64_t start, std::int64_t count) {
  SliceAttributes part{IntList(x.shape().size(), 0), x.shape(), IntList(x.shape().size(), 1)};
  part.start[axis] = count == 0 ? 0 : start;
  part.count[axis] = count;
  return emit(OpId::slice, part, {x});
}

namespace {

using T = AnyTensor;

const IntList& list_of(const Attributes& attributes) { return get<ListAttributes>(attributes).list; }

std::int64_t checked_sum(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ShapeError(text(op, ": a length of ", a, " + ", b, " is too large"));
  return sum;
}

// set_slice

std::vector<TensorType> infer_set_slice(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& part = get<SliceAttributes>(attributes);
  const Shape& shape = inputs[0].shape;
  check_part("set_slice", part, shape);
  if (inputs[1].shape != part.count) {
    throw ShapeError(
        text("set_slice: a value of shape ", inputs[1].shape, " cannot replace a part of shape ", part.count));
  }
  if (inputs[1].dtype != inputs[0].dtype) {
    throw TypeError(text("set_slice: a value of ", inputs[1].dtype, " in a tensor of ", inputs[0].dtype));
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
      throw TypeError(text("concat: parts of types ", inputs[0].dtype, " and ", inputs[i].dtype));
    }
    if (other.size() == shape.size()) {
      const std::int64_t length = other[axis];
      other[axis] = inputs[0].shape[axis];
      if (other == inputs[0].shape) {
        shape[axis] = checked_sum("concat", shape[axis], length);
        continue;
      }
    }
    throw ShapeError(
        text("concat: parts of shapes ", inputs[0].shape, " and ", inputs[i].shape, " must agree but for axis ", axis));
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

// tile and repeat: the result, seen with an axis of its own for the copies, is x stretched along that axis.

std::vector<TensorType> infer_tile(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& counts = list_of(attributes);
  Shape shape = inputs[0].shape;
  check_entries("tile", "counts", counts, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (counts[i] < 0) throw ValueError(text("tile: counts ", counts, " hold a negative one"));
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
  const Interleaved seen = interleave(list_of(c.attributes), c.inputs[0].shape());
  return {sum(reshape(T(c.gradients[0]), seen.counted), seen.axes)};
}

std::vector<Value> lower_tile(const Attributes& attributes, std::span<const Value> inputs) {
  const T x = inputs[0];
  const Interleaved seen = interleave(list_of(attributes), x.shape());
  const Shape shape = infer_tile(attributes, {{TensorType{x.dtype(), x.shape(), false}}})[0].shape;
  return {reshape(broadcast_to(reshape(x, seen.single), seen.counted), shape)};
}

std::vector<TensorType> infer_repeat(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& list = list_of(attributes);
  Shape shape = inputs[0].shape;
  if (list.size() != 2) throw ShapeError(text("repeat: attributes ", list, " must be a count and an axis"));
  const std::size_t axis = axis_among("repeat", list[1], shape);
  if (list[0] < 0) throw ValueError(text("repeat: count ", list[0], " is negative"));
  shape[axis] = checked_product(shape[axis], list[0]);
  return one(inputs[0].dtype, shape);
}

std::vector<Value> repeat_gradient(const GradientContext& c) {
  const IntList& list = list_of(c.attributes);
  Shape counted = c.inputs[0].shape();
  counted.insert(static_cast<std::size_t>(list[1]) + 1, list[0]);
  return {sum(reshape(T(c.gradients[0]), counted), Axes(list[1] + 1))};
}

std::vector<Value> lower_repeat(const Attributes& attributes, std::span<const Value> inputs) {
  const IntList& list = list_of(attributes);
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
  check_entries("roll", "shifts", list_of(attributes), inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}

/// A shift as the kernels want it: in [0, length).
std::int64_t wrapped(std::int64_t shift, std::int64_t length) {
  if (length == 0) return 0;
  const std::int64_t rest = shift % length;
  return rest < 0 ? rest + length : rest;
}

std::vector<Value> roll_gradient(const GradientContext& c) {
  const IntList& shifts = list_of(c.attributes);
  const Shape& shape = c.inputs[0].shape();
  IntList back;
  for (std::size_t i = 0; i < shape.size(); ++i) back.push_back(wrapped(-wrapped(shifts[i], shape[i]), shape[i]));
  return {emit(OpId::roll, ListAttributes{back}, {c.gradients[0]})};
}

std::vector<Value> lower_roll(const Attributes& attributes, std::span<const Value> inputs) {
  T x = inputs[0];
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const std::int64_t length = x.shape()[i], shift = wrapped(list_of(attributes)[i], length);
    if (shift == 0) continue;
    x = concat<Any>({part_along(x, i, length - shift, shift), part_along(x, i, 0, length - shift)},
                    static_cast<std::int64_t>(i));
  }
  return {x};
}

// pad

std::vector<TensorType> infer_pad(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& padding = get<PadAttributes>(attributes);
  Shape shape = inputs[0].shape;
  check_entries("pad", "widths", padding.before, shape);
  check_entries("pad", "widths", padding.after, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before < 0 || after < 0) {
      throw ValueError(text("pad: widths ", before, " and ", after, " of axis ", i, " must not be negative"));
    }
    if (padding.mode != PadMode::constant && shape[i] == 0 && (before > 0 || after > 0)) {
      throw ShapeError(text("pad: axis ", i, " of shape ", shape, " is empty, so there is nothing to repeat; ",
                            "only a constant can fill it"));
    }
    shape[i] = checked_sum("pad", checked_sum("pad", before, shape[i]), after);
  }
  return one(inputs[0].dtype, shape);
}

/// Where each element along a padded axis is read from: held at the edges, or going to and fro between them.
T sources(Mode mode, PadMode pad_mode, std::int64_t before, std::int64_t length, std::int64_t after) {
  const T position =
      emit(mode, OpId::arange, RangeAttributes{{before + length + after}, DType::i64, Scalar(-before), Scalar(1)});
  const std::int64_t last = length - 1;
  if (pad_mode == PadMode::edge || last == 0) return clip(position, 0, last);
  return last - abs(last - remainder(position, 2 * last));
}

// Padding by repetition is reading along one axis after the other, which has its gradient from take.
std::vector<Value> lower_pad(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& padding = get<PadAttributes>(attributes);
  T x = inputs[0];
  if (padding.mode == PadMode::constant) {
    const Shape inner = x.shape();
    Shape outer = inner;
    for (std::size_t i = 0; i < outer.size(); ++i) outer[i] += padding.before[i] + padding.after[i];
    const Value filled = emit(mode_beside(x), OpId::fill, RangeAttributes{outer, x.dtype(), padding.value, Scalar(0)});
    return {emit(OpId::set_slice, SliceAttributes{padding.before, inner, IntList(inner.size(), 1)}, {filled, x})};
  }
  for (std::size_t i = 0; i < padding.before.size(); ++i) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before == 0 && after == 0) continue;
    x = take(x, sources(mode_beside(x), padding.mode, before, x.shape()[i], after), static_cast<std::int64_t>(i));
  }
  return {x};
}

std::vector<Value> pad_gradient(const GradientContext& c) {
  const auto& padding = get<PadAttributes>(c.attributes);
  const Shape& shape = c.inputs[0].shape();
  T g = c.gradients[0];
  if (padding.mode == PadMode::constant) {
    return {emit(OpId::slice, SliceAttributes{padding.before, shape, IntList(shape.size(), 1)}, {g})};
  }
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t before = padding.before[i], after = padding.after[i];
    if (before == 0 && after == 0) continue;
    Shape inner = g.shape(), along(shape.size(), 1);
    inner[i] = shape[i];
    along[i] = before + shape[i] + after;
    const T source = reshape(sources(mode_beside(g), padding.mode, before, shape[i], after), along);
    g = added_along_axis(inner, source, g, i);
  }
  return {g};
}

// Diagonals and triangles

constexpr std::int64_t largest_offset = std::int64_t{1} << 32;

std::vector<TensorType> infer_diag_embed(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (list_of(attributes).size() != 1) throw ShapeError("diag: one diagonal is needed");
  const std::int64_t offset = list_of(attributes)[0];
  Shape shape = inputs[0].shape;
  if (shape.empty()) throw ShapeError("diag: a 0-d tensor has no axis to be a diagonal");
  if (offset < -largest_offset || offset > largest_offset) {
    throw ValueError(text("diag: diagonal ", offset, " is farther out than any matrix reaches"));
  }
  const std::int64_t side = shape.back() + std::abs(offset);
  shape.pop_back();
  shape.push_back(side);
  shape.push_back(side);
  return one(inputs[0].dtype, shape);
}

std::vector<Value> diag_embed_gradient(const GradientContext& c) {
  return {diagonal(T(c.gradients[0]), list_of(c.attributes)[0], -2, -1)};
}

// Every row (or column) of the square is the padded vector, of which the diagonal shows one element each.
std::vector<Value> lower_diag_embed(const Attributes& attributes, std::span<const Value> inputs) {
  const std::int64_t offset = list_of(attributes)[0];
  const T x = inputs[0];
  const std::int64_t side = x.shape().back() + std::abs(offset);
  IntList none(x.shape().size(), 0), after = none;
  after[after.size() - 1] = std::abs(offset);
  const T spread = expand_dims(pad(x, none, after), offset >= 0 ? -1 : -2);
  const T chosen =
      emit(mode_beside(x), OpId::eye, RangeAttributes{{side, side}, DType::boolean, Scalar(offset), Scalar(0)});
  return {where(chosen, spread, 0)};
}

std::vector<TensorType> infer_triangle(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (list_of(attributes).size() != 1) throw ShapeError("tril/triu: one diagonal is needed");
  if (inputs[0].shape.size() < 2) {
    throw ShapeError(text("tril/triu: a triangle needs rank 2 or more, not shape ", inputs[0].shape));
  }
  return one(inputs[0].dtype, inputs[0].shape);
}

template <OpId id>
std::vector<Value> triangle_gradient(const GradientContext& c) {
  return {emit(id, get<ListAttributes>(c.attributes), {c.gradients[0]})};
}

template <OpId id>
std::vector<Value> lower_triangle(const Attributes& attributes, std::span<const Value> inputs) {
  const T x = inputs[0];
  const std::int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back(), k = list_of(attributes)[0];
  const Mode mode = mode_beside(x);
  const T row = emit(mode, OpId::arange, RangeAttributes{{rows}, DType::i64, Scalar(k), Scalar(1)});
  const T column = emit(mode, OpId::arange, RangeAttributes{{columns}, DType::i64, Scalar(0), Scalar(1)});
  const T edge = expand_dims(row, 1);
  return {where(id == OpId::tril ? less_equal(column, edge) : greater_equal(column, edge), x, 0)};
}

}  // namespace

std::span<const OpDef> move_operators() {
  static const OpDef rows[] = {
      {.id = OpId::set_slice,
       .name = "set_slice",
       .doc = "A tensor with a regular part replaced.",
       .min_inputs = 2,
       .max_inputs = 2,
       .in_place = InPlace::first_input,
       .infer = infer_set_slice,
       .gradient = set_slice_gradient},
      {.id = OpId::concat,
       .name = "concat",
       .doc = "Tensors joined along an axis.",
       .max_inputs = 1 << 20,
       .infer = infer_concat,
       .gradient = concat_gradient},
      {.id = OpId::tile,
       .name = "tile",
       .doc = "The whole repeated along each axis.",
       .traits = traits(Traits::linear),
       .infer = infer_tile,
       .gradient = tile_gradient,
       .lower = lower_tile},
      {.id = OpId::repeat,
       .name = "repeat",
       .doc = "Each element repeated along an axis.",
       .traits = traits(Traits::linear),
       .infer = infer_repeat,
       .gradient = repeat_gradient,
       .lower = lower_repeat},
      {.id = OpId::roll,
       .name = "roll",
       .doc = "Elements shifted round.",
       .traits = traits(Traits::linear),
       .infer = infer_roll,
       .gradient = roll_gradient,
       .lower = lower_roll},
      {.id = OpId::pad,
       .name = "pad",
       .doc = "Elements added around: a constant, the edges, or reflections.",
       .infer = infer_pad,
       .gradient = pad_gradient,
       .lower = lower_pad},
      {.id = OpId::diag_embed,
       .name = "diag_embed",
       .doc = "Zeros with the last axis as a diagonal.",
       .traits = traits(Traits::linear),
       .infer = infer_diag_embed,
       .gradient = diag_embed_gradient,
       .lower = lower_diag_embed},
      {.id = OpId::tril,
       .name = "tril",
       .doc = "The lower triangle.",
       .traits = traits(Traits::linear),
       .in_place = InPlace::same_index,
       .infer = infer_triangle,
       .gradient = triangle_gradient<OpId::tril>,
       .lower = lower_triangle<OpId::tril>},
      {.id = OpId::triu,
       .name = "triu",
       .doc = "The upper triangle.",
       .traits = traits(Traits::linear),
       .in_place = InPlace::same_index,
       .infer = infer_triangle,
       .gradient = triangle_gradient<OpId::triu>,
       .lower = lower_triangle<OpId::triu>},
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
      throw ShapeError(text("stack: parts of shapes ", shape, " and ", part.shape(), " must have one shape"));
    }
  }
  Shape wider = shape;
  wider.insert(static_cast<std::size_t>(place), 1);
  for (Value& part : parts) part = emit(OpId::reshape, ListAttributes{wider}, {part});
  return emit(OpId::concat, AxisAttributes{place}, parts);
}

Value shifted_round(const Value& x, const IntList& shift, const Axes& axes) {
  if (axes.all()) {
    if (shift.size() != 1) throw ValueError(text("roll: shifts ", shift, " need as many axes, none are given"));
    const T flat = ravel(T(x));
    return reshape(T(emit(OpId::roll, ListAttributes{{wrapped(shift[0], flat.size())}}, {flat})), x.shape());
  }
  const std::size_t count = std::max(shift.size(), axes.list().size());
  if ((shift.size() != count && shift.size() != 1) || (axes.list().size() != count && axes.list().size() != 1)) {
    throw ValueError(
        text("roll: ", shift.size(), " shifts ", shift, " for ", axes.list().size(), " axes ", axes.list()));
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

PadMode mode_of_padding(Padding padding) {
  switch (padding) {
    case Padding::constant: return PadMode::constant;
    case Padding::edge: return PadMode::edge;
    case Padding::reflect: return PadMode::reflect;
  }
  throw ValueError("pad: unknown mode");
}

// Beyond the corners nothing changes, and a diagonal within them cannot overflow.
Value triangle(OpId id, const Value& x, std::int64_t k) {
  if (x.ndim() >= 2) {
    const Shape& shape = x.shape();
    k = std::clamp(k, -shape[shape.size() - 2], shape.back());
  }
  return emit(id, ListAttributes{{k}}, {x});
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> concat(const std::vector<Tensor<M>>& parts, std::int64_t axis) {
  return core::join({parts.begin(), parts.end()}, axis);
}

template <class M>
Tensor<M> stack(const std::vector<Tensor<M>>& parts, std::int64_t axis) {
  return core::join_along_new_axis({parts.begin(), parts.end()}, axis);
}

template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, std::int64_t parts, std::int64_t axis) {
  core::require("split", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("split", axis, x.ndim()));
  const std::int64_t length = x.shape()[along];
  if (parts <= 0) throw ValueError(core::text("split: ", parts, " parts are asked for; at least one is needed"));
  if (length % parts != 0) {
    throw ShapeError(core::text("split: axis ", along, " of length ", length, " does not divide into ", parts,
                                " equal parts; name the positions instead"));
  }
  std::vector<Tensor<M>> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    out.emplace_back(core::part_along(x, along, i * (length / parts), length / parts));
  }
  return out;
}

template <class M>
std::vector<Tensor<M>> split(const Tensor<M>& x, const IntList& positions, std::int64_t axis) {
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
Tensor<M> tile(const Tensor<M>& x, const IntList& counts) {
  core::require("tile", x);
  // The shorter of shape and counts is filled up with ones in front.
  Shape shape = x.shape();
  IntList copies = counts;
  while (shape.size() < copies.size()) shape.insert(0, 1);
  while (copies.size() < shape.size()) copies.insert(0, 1);
  return emit(OpId::tile, core::ListAttributes{copies}, {reshape(x, shape)});
}

template <class M>
Tensor<M> repeat(const Tensor<M>& x, std::int64_t count, std::optional<std::int64_t> axis) {
  core::require("repeat", x);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("repeat", axis.value_or(0), source.ndim());
  return emit(OpId::repeat, core::ListAttributes{{count, along}}, {source});
}

template <class M>
Tensor<M> roll(const Tensor<M>& x, const IntList& shift, const Axes& axes) {
  return core::shifted_round(core::given("roll", x), shift, axes);
}

template <class M>
Tensor<M> pad(const Tensor<M>& x, const IntList& before, const IntList& after, Padding mode, const Scalar& value) {
  core::require("pad", x);
  return emit(OpId::pad, core::PadAttributes{before, after, core::mode_of_padding(mode), value}, {x});
}

template <class M>
Tensor<M> diag(const Tensor<M>& x, std::int64_t k) {
  core::require("diag", x);
  if (x.ndim() == 1) return emit(OpId::diag_embed, core::ListAttributes{{k}}, {x});
  if (x.ndim() == 2) return diagonal(x, k, 0, 1);
  throw ShapeError(core::text("diag: a vector or a matrix is needed, not shape ", x.shape()));
}

template <class M>
Tensor<M> tril(const Tensor<M>& x, std::int64_t k) {
  return core::triangle(OpId::tril, core::given("tril", x), k);
}

template <class M>
Tensor<M> triu(const Tensor<M>& x, std::int64_t k) {
  return core::triangle(OpId::triu, core::given("triu", x), k);
}

template <class M>
std::vector<Tensor<M>> meshgrid(const std::vector<Tensor<M>>& axes) {
  Shape shape;
  for (const Tensor<M>& axis : axes) {
    core::require("meshgrid", axis);
    if (axis.ndim() > 1) throw ShapeError(core::text("meshgrid: axes must be vectors, not of shape ", axis.shape()));
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

TYTO_INSTANTIATE(concat)
TYTO_INSTANTIATE(stack)
TYTO_INSTANTIATE(tile)
TYTO_INSTANTIATE(repeat)
TYTO_INSTANTIATE(roll)
TYTO_INSTANTIATE(pad)
TYTO_INSTANTIATE(diag)
TYTO_INSTANTIATE(tril)
TYTO_INSTANTIATE(triu)
TYTO_INSTANTIATE(meshgrid)
#define TYTO_INSTANTIATE_SPLIT(M)                                                            \
  template std::vector<Tensor<M>> split(const Tensor<M>&, std::int64_t parts, std::int64_t); \
  template std::vector<Tensor<M>> split(const Tensor<M>&, const IntList& positions, std::int64_t);
TYTO_INSTANTIATE_SPLIT(Eager)
TYTO_INSTANTIATE_SPLIT(Lazy)
TYTO_INSTANTIATE_SPLIT(Any)
#undef TYTO_INSTANTIATE_SPLIT

}  // namespace TYTO_API
