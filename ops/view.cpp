// SPDX-License-Identifier: MIT
// View operators, which change how a tensor is read, not its elements: reshape, transpose, broadcast, slice, flip.
#include "core/graph/op_ids.hpp"
#include "core/graph/view_now.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

const IntList& list_of(const Attributes& attributes) { return get<ListAttributes>(attributes).list; }

std::vector<TensorType> infer_reshape(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_lengths("reshape", list_of(attributes));
  if (element_count(list_of(attributes)) != element_count(inputs[0].shape)) {
    throw_error<ShapeError>("reshape: ", inputs[0].shape, " has ", element_count(inputs[0].shape), " elements, ",
                            list_of(attributes), " would have ", element_count(list_of(attributes)));
  }
  return one(inputs[0].dtype, list_of(attributes));
}
std::optional<View> view_reshape(const Attributes& attributes, const View& input) {
  return reshape(input, list_of(attributes));
}
std::vector<Value> reshape_gradient(const GradientContext& c) {
  return {reshape(T(c.gradients[0]), c.inputs[0].shape())};
}

std::vector<TensorType> infer_transpose(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_order("transpose", list_of(attributes), inputs[0].shape);
  return one(inputs[0].dtype, permute(View::dense(inputs[0].shape), list_of(attributes)).shape);
}
std::optional<View> view_transpose(const Attributes& attributes, const View& input) {
  return permute(input, list_of(attributes));
}
std::vector<Value> transpose_gradient(const GradientContext& c) {
  return {transpose(T(c.gradients[0]), core::inverse_order(list_of(c.attributes)))};
}

std::vector<TensorType> infer_broadcast(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_lengths("broadcast_to", list_of(attributes));
  if (!broadcastable(inputs[0].shape, list_of(attributes))) {
    throw_error<ShapeError>("broadcast_to: ", inputs[0].shape, " does not stretch to ", list_of(attributes));
  }
  return one(inputs[0].dtype, list_of(attributes));
}
std::optional<View> view_broadcast(const Attributes& attributes, const View& input) {
  return broadcast_to(input, list_of(attributes));
}
std::vector<Value> broadcast_gradient(const GradientContext& c) {
  return {sum_to(c.gradients[0], c.inputs[0].shape())};
}

std::vector<TensorType> infer_slice(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& part = get<SliceAttributes>(attributes);
  check_part("slice", part, inputs[0].shape);
  return one(inputs[0].dtype, part.count);
}
std::optional<View> view_slice(const Attributes& attributes, const View& input) {
  const auto& range = get<SliceAttributes>(attributes);
  return slice(input, range.start, range.count, range.step);
}
// The gradient is zero outside the slice and g inside: g placed into zeros.
std::vector<Value> slice_gradient(const GradientContext& c) {
  const T zeros = zeros_like(T(c.inputs[0]));
  return {emit(OpId::set_slice, get<SliceAttributes>(c.attributes), {zeros, c.gradients[0]})};
}

std::vector<TensorType> infer_flip(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_axes("flip", get<AxesAttributes>(attributes).axes, inputs[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}
std::optional<View> view_flip(const Attributes& attributes, const View& input) {
  SliceAttributes whole{IntList(input.shape.size(), 0), input.shape, IntList(input.shape.size(), 1)};
  for (const std::int64_t axis : get<AxesAttributes>(attributes).axes) {
    const auto i = static_cast<std::size_t>(axis);
    whole.start[i] = std::max<std::int64_t>(input.shape[i] - 1, 0);
    whole.step[i] = -1;
  }
  return slice(input, whole.start, whole.count, whole.step);
}
std::vector<Value> flip_gradient(const GradientContext& c) {
  return {emit(OpId::flip, get<AxesAttributes>(c.attributes), {c.gradients[0]})};
}

// Attributes: offset, first axis, second axis. The diagonal becomes the last axis.
View diagonal_of(const IntList& list, const View& input) {
  // Diagonals farther out than the matrix reaches are all alike: empty.
  const std::int64_t farthest = std::int64_t{1} << 62;
  const std::int64_t offset = std::clamp(list[0], -farthest, farthest);
  const auto first = static_cast<std::size_t>(list[1]);
  const auto second = static_cast<std::size_t>(list[2]);
  const std::int64_t row = std::max<std::int64_t>(-offset, 0);
  const std::int64_t column = std::max<std::int64_t>(offset, 0);
  const std::int64_t length =
      std::max<std::int64_t>(0, std::min(input.shape[first] - row, input.shape[second] - column));
  View out{{}, {}, input.offset};
  if (length > 0) out.offset += row * input.strides[first] + column * input.strides[second];
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (i == first || i == second) continue;
    out.shape.push_back(input.shape[i]);
    out.strides.push_back(input.strides[i]);
  }
  out.shape.push_back(length);
  out.strides.push_back(input.strides[first] + input.strides[second]);
  return out;
}
std::vector<TensorType> infer_diagonal(const Attributes& attributes, std::span<const TensorType> inputs) {
  const IntList& list = list_of(attributes);
  if (list.size() != 3 ||
      axis_among("diagonal", list[1], inputs[0].shape) == axis_among("diagonal", list[2], inputs[0].shape)) {
    throw_error<ShapeError>("diagonal: attributes ", list, " must be an offset and two different axes");
  }
  const std::int64_t rows = inputs[0].shape[static_cast<std::size_t>(list[1])];
  const std::int64_t columns = inputs[0].shape[static_cast<std::size_t>(list[2])];
  if (list[0] < -rows || list[0] > columns) {
    throw_error<IndexError>("diagonal: offset ", list[0], " is outside [", -rows, ", ", columns, "]");
  }
  return one(inputs[0].dtype, diagonal_of(list_of(attributes), View::dense(inputs[0].shape)).shape);
}
std::optional<View> view_diagonal(const Attributes& attributes, const View& input) {
  return diagonal_of(list_of(attributes), input);
}
// g spread over the diagonal of zeros, and the two axes moved back to where they were.
std::vector<Value> diagonal_gradient(const GradientContext& c) {
  const IntList& list = list_of(c.attributes);
  const Shape& shape = c.inputs[0].shape();
  const std::int64_t rows = shape[static_cast<std::size_t>(list[1])];
  const std::int64_t columns = shape[static_cast<std::size_t>(list[2])];
  T square = emit(OpId::diag_embed, ListAttributes{{list[0]}}, {c.gradients[0]});
  const std::int64_t rank = square.ndim();
  const std::int64_t side = square.shape().back();
  // diag_embed makes the smallest square that holds the diagonal; the matrix may be wider or taller than that.
  IntList after(static_cast<std::size_t>(rank), 0);
  after[static_cast<std::size_t>(rank - 2)] = std::max<std::int64_t>(rows - side, 0);
  after[static_cast<std::size_t>(rank - 1)] = std::max<std::int64_t>(columns - side, 0);
  square = pad(square, IntList(static_cast<std::size_t>(rank), 0), after);
  Shape count = square.shape();
  count[static_cast<std::size_t>(rank - 2)] = rows;
  count[static_cast<std::size_t>(rank - 1)] = columns;
  square = emit(OpId::slice, SliceAttributes{IntList(count.size(), 0), count, IntList(count.size(), 1)}, {square});
  IntList order;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i == list[1] ? rank - 2 : i == list[2] ? rank - 1 : next++);
  return {transpose(square, order)};
}

OpDef view_row(OpId id, std::string_view doc, Inference infer, ViewRule view, GradientRule gradient, Sample sample) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.traits = traits(Traits::view | Traits::linear | Traits::takes_complex);
  def.infer = infer;
  def.view = view;
  def.gradient = gradient;
  def.sample = sample;
  return def;
}

}  // namespace

std::span<const OpDef> view_operators() {
  static const OpDef rows[] = {
      view_row(OpId::reshape, "Another shape.", infer_reshape, view_reshape, reshape_gradient,
               [](DType t) -> Value {
                 return reshape(samples::line(t), {2, 2});
               }),
      view_row(OpId::transpose, "Axes in another order.", infer_transpose, view_transpose, transpose_gradient,
               [](DType t) -> Value { return transpose(samples::square_matrix(t)); }),
      view_row(OpId::broadcast_to, "Stretched.", infer_broadcast, view_broadcast, broadcast_gradient,
               [](DType t) -> Value {
                 return broadcast_to(samples::line(t), {2, 4});
               }),
      view_row(OpId::slice, "A regular part.", infer_slice, view_slice, slice_gradient,
               [](DType t) -> Value { return samples::line(t)(tyto::slice(1, 3)); }),
      view_row(OpId::flip, "Axes reversed.", infer_flip, view_flip, flip_gradient,
               [](DType t) -> Value { return flip(samples::line(t)); }),
      view_row(OpId::diagonal, "A diagonal.", infer_diagonal, view_diagonal, diagonal_gradient,
               [](DType t) -> Value { return diagonal(samples::square_matrix(t)); }),
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

namespace {

// The bodies, by which views are made of values of any mode.

Value reshaped(const Value& x, const Shape& shape) {
  core::require("reshape", x);
  Shape target = shape;
  const std::int64_t size = element_count(x.shape());
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1 && !open) {
      open = i;
    } else if (target[i] < 0) {
      core::throw_error<ShapeError>("reshape: ", shape, " has ",
                                    target[i] == -1 ? "more than one -1" : "a negative length");
    } else if (__builtin_mul_overflow(known, target[i], &known)) {
      core::throw_error<ShapeError>("reshape: ", x.shape(), " has ", size, " elements, ", shape,
                                    " would have more than 63 bits can count");
    }
  }
  if (open) {
    if (known == 0 || size % known != 0) {
      core::throw_error<ShapeError>("reshape: ", x.shape(), " with ", size, " elements does not fit ", shape);
    }
    target[*open] = size / known;
  }
  if (target == x.shape()) return core::resolve(x);
  if (const core::Array* array = core::contents_now(x); array && element_count(target) == size) {
    if (auto view = reshape(array->view, target)) return core::viewed_now(*array, *std::move(view));
  }
  return emit(OpId::reshape, core::ListAttributes{target}, {x});
}

Value transposed(const Value& x, const IntList& order) {
  core::require("transpose", x);
  const int rank = x.ndim();
  IntList axes;
  if (order.empty()) {
    for (int i = rank; i-- > 0;) axes.push_back(i);
  } else {
    if (order.rank() != rank) {
      core::throw_error<ShapeError>("transpose: order ", order, " names ", order.size(), " of the ", rank,
                                    " axes of shape ", x.shape());
    }
    for (const std::int64_t axis : order) axes.push_back(core::normalise_axis("transpose", axis, rank));
    (void)core::normalise_axes("transpose", axes, rank);  // throws when an axis is named twice
  }
  if (std::is_sorted(axes.begin(), axes.end())) return core::resolve(x);
  if (const core::Array* array = core::contents_now(x)) return core::viewed_now(*array, permute(array->view, axes));
  return emit(OpId::transpose, core::ListAttributes{axes}, {x});
}

Value squeezed(const Value& x, const Axes& axes) {
  core::require("squeeze", x);
  Shape shape;
  const IntList named = core::normalise_axes("squeeze", axes, x.ndim());
  for (std::int64_t i = 0; i < x.ndim(); ++i) {
    const std::int64_t length = x.shape()[static_cast<std::size_t>(i)];
    const bool chosen = std::find(named.begin(), named.end(), i) != named.end();
    if (chosen && length != 1 && !axes.all()) {
      core::throw_error<ShapeError>("squeeze: axis ", i, " of shape ", x.shape(), " has length ", length, ", not 1");
    }
    if (!chosen || length != 1) shape.push_back(length);
  }
  return reshaped(x, shape);
}

Value with_axes(const Value& x, const Axes& axes) {
  core::require("expand_dims", x);
  const int rank = x.ndim() + axes.list().rank();
  const IntList added = axes.all() ? IntList() : core::normalise_axes("expand_dims", axes, rank);
  Shape shape;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool fresh = std::find(added.begin(), added.end(), i) != added.end();
    shape.push_back(fresh ? 1 : x.shape()[next++]);
  }
  return reshaped(x, shape);
}

Value flattened(const Value& x, std::int64_t first) {
  core::require("flatten", x);
  if (x.ndim() == 0) return reshaped(x, {1});
  const auto start = static_cast<std::size_t>(core::normalise_axis("flatten", first, x.ndim()));
  Shape shape(std::span<const std::int64_t>(x.shape().data(), start));
  shape.push_back(
      element_count(Shape(std::span<const std::int64_t>(x.shape().data() + start, x.shape().size() - start))));
  return reshaped(x, shape);
}

}  // namespace

template <class M>
Tensor<M> reshape(const Tensor<M>& x, const Shape& shape) {
  return reshaped(x, shape);
}

template <class M>
Tensor<M> transpose(const Tensor<M>& x, const IntList& order) {
  return transposed(x, order);
}

template <class M>
Tensor<M> matrix_transpose(const Tensor<M>& x) {
  core::require("matrix_transpose", x);
  if (x.ndim() < 2) core::throw_error<ShapeError>("matrix_transpose: needs rank 2 or more, not shape ", x.shape());
  return swapaxes(x, -1, -2);
}

template <class M>
Tensor<M> swapaxes(const Tensor<M>& x, std::int64_t a, std::int64_t b) {
  TYTO_ONCE(swapaxes, x, a, b);
  core::require("swapaxes", x);
  IntList order;
  for (int i = 0; i < x.ndim(); ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(core::normalise_axis("swapaxes", a, x.ndim()))],
            order[static_cast<std::size_t>(core::normalise_axis("swapaxes", b, x.ndim()))]);
  return transpose(x, order);
}

template <class M>
Tensor<M> moveaxis(const Tensor<M>& x, std::int64_t from, std::int64_t to) {
  TYTO_ONCE(moveaxis, x, from, to);
  core::require("moveaxis", x);
  const int source = core::normalise_axis("moveaxis", from, x.ndim());
  const int target = core::normalise_axis("moveaxis", to, x.ndim());
  IntList order;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i != source) order.push_back(i);
  }
  order.insert(static_cast<std::size_t>(target), source);
  return transpose(x, order);
}

template <class M>
Tensor<M> squeeze(const Tensor<M>& x, const Axes& axes) {
  return squeezed(x, axes);
}

template <class M>
Tensor<M> expand_dims(const Tensor<M>& x, const Axes& axes) {
  return with_axes(x, axes);
}

template <class M>
Tensor<M> ravel(const Tensor<M>& x) {
  core::require("ravel", x);
  return reshape(x, {x.size()});
}

template <class M>
Tensor<M> flatten(const Tensor<M>& x, std::int64_t first) {
  return flattened(x, first);
}

template <class M>
Tensor<M> broadcast_to(const Tensor<M>& x, const Shape& shape) {
  core::require("broadcast_to", x);
  if (x.shape() == shape) return core::resolve(x);
  return emit(OpId::broadcast_to, core::ListAttributes{shape}, {x});
}

template <class M>
Tensor<M> flip(const Tensor<M>& x, const Axes& axes) {
  core::require("flip", x);
  return emit(OpId::flip, core::AxesAttributes{core::normalise_axes("flip", axes, x.ndim())}, {x});
}

template <class M>
Tensor<M> diagonal(const Tensor<M>& x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  TYTO_ONCE(diagonal, x, k, axis1, axis2);
  core::require("diagonal", x);
  const int first = core::normalise_axis("diagonal", axis1, x.ndim());
  const int second = core::normalise_axis("diagonal", axis2, x.ndim());
  if (first == second) core::throw_error<ValueError>("diagonal: both axes are axis ", first);
  // Diagonals beyond the corners are all empty; the nearest one stands for them, so that no offset overflows.
  k = std::clamp(k, -x.shape()[static_cast<std::size_t>(first)], x.shape()[static_cast<std::size_t>(second)]);
  return emit(OpId::diagonal, core::ListAttributes{{k, first, second}}, {x});
}

template <class M>
Tensor<M> trace(const Tensor<M>& x, std::int64_t k) {
  core::require("trace", x);
  const Tensor<M> line = diagonal(x, k);
  return line.sum(-1);
}

TYTO_INSTANTIATE(reshape)
TYTO_INSTANTIATE(transpose)
TYTO_INSTANTIATE(matrix_transpose)
TYTO_INSTANTIATE(swapaxes)
TYTO_INSTANTIATE(moveaxis)
TYTO_INSTANTIATE(squeeze)
TYTO_INSTANTIATE(expand_dims)
TYTO_INSTANTIATE(ravel)
TYTO_INSTANTIATE(flatten)
TYTO_INSTANTIATE(broadcast_to)
TYTO_INSTANTIATE(flip)
TYTO_INSTANTIATE(diagonal)
TYTO_INSTANTIATE(trace)

}  // namespace TYTO_API
