// SPDX-License-Identifier: MIT
// Shapes: asking for them and changing them without moving elements.
#include <algorithm>

#include "onnx/file/element_types.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// Known whatever the elements are: this is where the arithmetic of shapes begins.
Operand known_integers(const std::vector<std::int64_t>& values, const Shape& shape) {
  Operand integers(Array::from(values, shape), true);
  integers.element_type = element_type_of(DType::i64);  // whatever that of what they are the shape of
  return integers;
}
Operand integers_known(const std::vector<std::int64_t>& values) {
  return known_integers(values, {static_cast<std::int64_t>(values.size())});
}

Outputs shape_of_input(const OperatorCall& call) {
  const Shape& shape = call[0].shape();
  const std::int64_t rank = shape.rank();
  const auto limited = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = limited(call.integer("start", 0)), end = limited(call.integer("end", rank));
  if (start >= end) return {integers_known({})};
  return {integers_known({shape.begin() + start, shape.begin() + end})};
}

Outputs size_of_input(const OperatorCall& call) { return {known_integers({call[0].size()}, {})}; }

Outputs reshaped_to(const OperatorCall& call, std::vector<std::int64_t> lengths) {
  const Array& x = call[0];
  const bool zero_is_zero = call.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] != 0 || zero_is_zero) continue;
    if (i >= x.shape().size()) call.refuse("shape copies axis ", i, " of an input of shape ", x.shape());
    lengths[i] = axis_length(x, i);
  }
  return {reshape(x, Shape(std::span(lengths)))};
}
Outputs reshape_by_attribute(const OperatorCall& call) { return reshaped_to(call, call.integers("shape")); }
Outputs reshape_by_input(const OperatorCall& call) { return reshaped_to(call, call.integers_in(1)); }

Outputs transposed(const OperatorCall& call) {
  const std::vector<std::int64_t>& order = call.integers("perm");
  return {transpose(call[0], IntList(std::span(order)))};
}

Outputs flattened(const OperatorCall& call) {
  const Array& x = call[0];
  std::int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += x.ndim();
  if (axis < 0 || axis > x.ndim()) call.refuse("axis ", axis, " of shape ", x.shape());
  const auto middle = x.shape().begin() + axis;
  const std::int64_t rows = element_count(Shape(std::span(x.shape().begin(), middle))),
                     columns = element_count(Shape(std::span(middle, x.shape().end())));
  return {reshape(x, {rows, columns})};
}

// Where as many axes are named as there are of length one, these are they, whatever the names.
Outputs squeezed(const OperatorCall& call, const std::vector<std::int64_t>& axes) {
  return {axes.empty() ? squeeze(call[0]) : squeeze(call[0], IntList(std::span(axes)))};
}
Outputs squeeze_by_attribute(const OperatorCall& call) { return squeezed(call, call.integers("axes")); }
Outputs squeeze_by_input(const OperatorCall& call) {
  const Shape& shape = call[0].shape();
  if (!call.has(1) || (!call.known(1) && call[1].size() == std::count(shape.begin(), shape.end(), 1))) {
    return squeezed(call, {});
  }
  return squeezed(call, call.integers_in(1));
}

Outputs unsqueezed(const OperatorCall& call, const std::vector<std::int64_t>& axes) {
  return {expand_dims(call[0], IntList(std::span(axes)))};
}
Outputs unsqueeze_by_attribute(const OperatorCall& call) { return unsqueezed(call, call.integers("axes")); }
Outputs unsqueeze_by_input(const OperatorCall& call) { return unsqueezed(call, call.integers_in(1)); }

// Either may have axes of length one that the other stretches.
Outputs expanded(const OperatorCall& call) {
  const Array& x = call[0];
  std::vector<std::int64_t> target = call.integers_in(1);
  const auto rank = static_cast<std::size_t>(x.ndim());
  if (target.size() < rank) target.insert(target.begin(), rank - target.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t& length = target[target.size() - rank + i];
    if (length == 1) length = axis_length(x, i);
  }
  return {broadcast_to(x, Shape(std::span(target)))};
}

// Blocks of pixels and channels change places: depth as (block, block, channels), or channels first.
Outputs depth_to_space(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t block = call.integer("blocksize");
  const std::string_view mode = call.text("mode", "DCR");
  call.require_bounded("blocksize", block);
  if (x.ndim() != 4 || block <= 0 || axis_length(x, 1) % (block * block) != 0) {
    call.refuse("shape ", x.shape(), " with blocks of ", block, "; expected 4 axes and channels by the square of it");
  }
  const std::int64_t n = axis_length(x, 0), c = axis_length(x, 1) / (block * block), h = axis_length(x, 2),
                     w = axis_length(x, 3);
  const Array y = mode == "CRD" ? transpose(reshape(x, {n, c, block, block, h, w}), {0, 1, 4, 2, 5, 3})
                                : transpose(reshape(x, {n, block, block, c, h, w}), {0, 3, 4, 1, 5, 2});
  return {reshape(y, {n, c, h * block, w * block})};
}
Outputs space_to_depth(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t block = call.integer("blocksize");
  const std::string_view mode = call.text("mode", "DCR");
  call.require_bounded("blocksize", block);
  if (x.ndim() != 4 || block <= 0 || axis_length(x, 2) % block != 0 || axis_length(x, 3) % block != 0) {
    call.refuse("shape ", x.shape(), " with blocks of ", block, "; expected 4 axes that blocks divide");
  }
  const std::int64_t n = axis_length(x, 0), c = axis_length(x, 1), h = axis_length(x, 2) / block,
                     w = axis_length(x, 3) / block;
  const Array blocks = reshape(x, {n, c, h, block, w, block});
  const Array y = mode == "CRD" ? transpose(blocks, {0, 1, 3, 5, 2, 4}) : transpose(blocks, {0, 3, 5, 1, 2, 4});
  return {reshape(y, {n, c * block * block, h, w})};
}

// x cut along an axis into pieces of the given lengths, each a view.
Outputs pieces(const OperatorCall& call, std::int64_t axis, const std::vector<std::int64_t>& lengths) {
  const Array& x = call[0];
  IntList positions;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > axis_length(x, static_cast<std::size_t>(axis)))
      call.refuse("a piece of length ", length);
    at += length;
    positions.push_back(at);
  }
  const std::int64_t whole = axis_length(x, static_cast<std::size_t>(axis));
  if (at != whole) call.refuse("pieces of ", at, " in all, of an axis of length ", whole);
  std::vector<Array> parts;
  if (lengths.size() > 1) {
    parts = split(x, IntList(std::span(positions.data(), positions.size() - 1)), axis);
  } else {
    parts = {x};
  }
  return Outputs(std::move(parts));
}
Outputs equal_pieces(const OperatorCall& call, std::int64_t axis, std::int64_t count) {
  const std::int64_t whole = axis_length(call[0], static_cast<std::size_t>(axis));
  if (count != static_cast<std::int64_t>(call.output_count()))
    call.refuse("num_outputs ", count, " for ", call.output_count());
  const std::int64_t length = (whole + count - 1) / count;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), length);
  for (std::int64_t i = 0, left = whole; i < count; ++i, left -= length) {
    lengths[static_cast<std::size_t>(i)] = std::clamp<std::int64_t>(left, 0, length);
  }
  return pieces(call, axis, lengths);
}
Outputs split_by_attribute(const OperatorCall& call) {
  const std::int64_t axis = call.axis(0, call[0].ndim());
  const std::vector<std::int64_t>& lengths = call.integers("split");
  if (!lengths.empty()) return pieces(call, axis, lengths);
  return equal_pieces(call, axis, static_cast<std::int64_t>(call.output_count()));
}
Outputs split_by_input(const OperatorCall& call) {
  const std::int64_t axis = call.axis(0, call[0].ndim());
  const std::int64_t count = call.integer("num_outputs", static_cast<std::int64_t>(call.output_count()));
  if (count <= 0) call.refuse("num_outputs ", count);
  if (call.has(1)) return pieces(call, axis, call.integers_in(1));
  return equal_pieces(call, axis, count);
}

// Pieces of one length, the last of which may be shorter; of lengths that a list says; or of length 1, then with the
// axis or without it.
Outputs split_to_sequence(const OperatorCall& call) {
  const std::int64_t axis = call.axis(0, call[0].ndim());
  const std::int64_t whole = axis_length(call[0], static_cast<std::size_t>(axis));
  const bool keeps_axis = call.integer("keepdims", 1) != 0 || call.has(1);
  std::vector<std::int64_t> lengths;
  if (call.has(1) && call[1].ndim() > 0) {
    lengths = call.integers_in(1);
  } else {
    const std::int64_t length = call.has(1) ? call.integer_in(1) : 1;
    if (length <= 0) call.refuse("pieces of length ", length, "; it must be positive");
    for (std::int64_t left = whole; left > 0; left -= length) lengths.push_back(std::min(left, length));
  }
  if (lengths.empty() && whole == 0) return {Operand::of_sequence({})};
  Outputs elements = pieces(call, axis, lengths);
  for (Operand& element : elements) {
    if (!keeps_axis) element.tensor = squeeze(element.tensor, axis);
    element.known = call.known(0);
  }
  return {Operand::of_sequence(std::move(elements))};
}

constexpr OperatorRow shape_table[] = {
    {"DepthToSpace", 1, depth_to_space},
    {"Expand", 8, expanded},
    {"Flatten", 1, flattened},
    {"Reshape", 1, reshape_by_attribute},
    {"Reshape", 5, reshape_by_input},
    {"Shape", 1, shape_of_input},
    {"Size", 1, size_of_input},
    {"SpaceToDepth", 1, space_to_depth},
    {"Split", 2, split_by_attribute},
    {"Split", 13, split_by_input},
    {"SplitToSequence", 11, split_to_sequence},
    {"Squeeze", 1, squeeze_by_attribute},
    {"Squeeze", 13, squeeze_by_input},
    {"Transpose", 1, transposed},
    {"Unsqueeze", 1, unsqueeze_by_attribute},
    {"Unsqueeze", 13, unsqueeze_by_input},
};

}  // namespace

std::span<const OperatorRow> shape_rows() { return shape_table; }

}  // namespace tyto::onnx
