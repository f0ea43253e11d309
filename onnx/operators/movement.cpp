// SPDX-License-Identifier: MIT
// Elements moved: joined, cut out, padded, repeated, reversed.
#include <algorithm>

#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs joined(const OperatorCall& call) { return {concat(call.tensors(), call.integer("axis", 1))}; }

/// The range that a slice takes of an axis; ONNX brings both ends into the axis first, whatever the direction.
Slice range_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length) {
  if (start < 0) start += length;
  if (end < 0) end += length;
  if (step > 0)
    return slice(std::clamp<std::int64_t>(start, 0, length), std::clamp<std::int64_t>(end, 0, length), step);
  start = std::clamp<std::int64_t>(start, 0, length - 1);
  end = std::clamp<std::int64_t>(end, -1, length - 1);
  if (end == -1) return slice(start, {}, step);
  return slice(start, end, step);
}

Outputs sliced(const OperatorCall& call, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& ends,
               std::vector<std::int64_t> axes, std::vector<std::int64_t> steps) {
  const Array& x = call[0];
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    call.refuse(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes, ", steps.size(), " steps");
  }
  std::vector<Index> entries(static_cast<std::size_t>(x.ndim()), Index(all));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + x.ndim() : axes[i];
    if (axis < 0 || axis >= x.ndim()) call.refuse("axis ", axes[i], " of shape ", x.shape());
    if (steps[i] == 0) call.refuse("a step of 0");
    const std::int64_t length = axis_length(x, static_cast<std::size_t>(axis));
    if (length == 0) continue;
    entries[static_cast<std::size_t>(axis)] = range_of(starts[i], ends[i], steps[i], length);
  }
  return {x.get(entries)};
}
Outputs slice_by_attributes(const OperatorCall& call) {
  return sliced(call, call.integers("starts"), call.integers("ends"), call.integers("axes"), {});
}
Outputs slice_by_inputs(const OperatorCall& call) {
  return sliced(call, call.integers_in(1), call.integers_in(2),
                call.has(3) ? call.integers_in(3) : std::vector<std::int64_t>(),
                call.has(4) ? call.integers_in(4) : std::vector<std::int64_t>());
}

// Negative padding takes elements away.
Array padded(const OperatorCall& call, Array x, const std::vector<std::int64_t>& pads, const Scalar& value,
             std::vector<std::int64_t> axes) {
  const std::string_view mode = call.text("mode", "constant");
  const auto rank = static_cast<std::size_t>(x.ndim());
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  call.require_bounded("pads", pads);
  if (pads.size() != 2 * axes.size()) call.refuse(pads.size(), " numbers of padding for ", axes.size(), " axes");
  IntList before(rank, 0), after(rank, 0);
  std::vector<Index> kept(rank, Index(all));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + x.ndim() : axes[i];
    if (axis < 0 || axis >= x.ndim()) call.refuse("axis ", axes[i], " of shape ", x.shape());
    const auto at = static_cast<std::size_t>(axis);
    before[at] = std::max<std::int64_t>(pads[i], 0);
    after[at] = std::max<std::int64_t>(pads[i + axes.size()], 0);
    const std::int64_t begin = std::max<std::int64_t>(-pads[i], 0);
    const std::int64_t end = axis_length(x, at) - std::max<std::int64_t>(-pads[i + axes.size()], 0);
    if (begin != 0 || end != axis_length(x, at)) kept[at] = slice(begin, std::max(begin, end));
  }
  x = std::as_const(x).get(kept);
  if (mode == "constant") return pad(x, before, after, PaddingMode::constant, value);
  if (mode == "edge") return pad(x, before, after, PaddingMode::edge);
  if (mode == "reflect") return pad(x, before, after, PaddingMode::reflect);
  if (mode == "wrap") return pad(x, before, after, PaddingMode::wrap);
  call.refuse("mode '", mode, "'; known are constant, edge, reflect and wrap");
}
Outputs pad_by_attributes(const OperatorCall& call) {
  return {padded(call, call[0], call.integers("pads"), call.number("value", 0), {})};
}
// The fill is a number of the input's type.
Outputs pad_by_inputs(const OperatorCall& call) {
  const Array& x = call[0];
  const std::vector<std::int64_t> pads = call.integers_in(1),
                                  axes = call.has(3) ? call.integers_in(3) : std::vector<std::int64_t>();
  if (call.has(2) && !call.known(2)) {
    if (call[2].size() != 1) call.refuse("input 3 has ", call[2].size(), " elements, expected one");
    const Array y = padded(call, x, pads, 0, axes);
    if (call.text("mode", "constant") != "constant") return {y};
    const Array inside =
        padded(call, broadcast_to(Array::full({}, true, DType::boolean), x.shape()), pads, false, axes);
    return {where(inside, y, cast(reshape(call[2], {}), x.dtype()))};
  }
  Scalar value = 0;
  if (call.has(2)) value = is_floating(x.dtype()) ? Scalar(call.number_in(2)) : Scalar(call.integer_in(2));
  return {padded(call, x, pads, value, axes)};
}

Outputs tiled(const OperatorCall& call) {
  const std::vector<std::int64_t> counts = call.integers_in(1);
  return {tile(call[0], IntList(std::span(counts)))};
}

Outputs triangle(const OperatorCall& call) {
  if (call.has(1) && !call.known(1)) {
    const Array& x = call[0];
    if (x.ndim() < 2) call.refuse("shape ", x.shape(), "; expected matrices");
    const auto last = static_cast<std::size_t>(x.ndim() - 1);
    const Array row = reshape(Array::arange(axis_length(x, last - 1)), {-1, 1}),
                distance = Array::arange(axis_length(x, last)) - row, k = cast(reshape(call[1], {}), DType::i64);
    const bool upper = call.integer("upper", 1) != 0;
    return {where(upper ? greater_equal(distance, k) : less_equal(distance, k), x, zeros_like(x))};
  }
  const std::int64_t k = call.has(1) ? call.integer_in(1) : 0;
  return {call.integer("upper", 1) != 0 ? triu(call[0], k) : tril(call[0], k)};
}

// The first elements of each sequence in reverse order: element i becomes element length - 1 - i.
Outputs reversed_sequences(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t batch_axis = call.integer("batch_axis", 1), time_axis = call.integer("time_axis", 0);
  if (x.ndim() < 2 || batch_axis == time_axis || std::min(batch_axis, time_axis) != 0 ||
      std::max(batch_axis, time_axis) != 1) {
    call.refuse("batch_axis ", batch_axis, " and time_axis ", time_axis, "; they are 0 and 1, one each");
  }
  const std::int64_t steps = axis_length(x, static_cast<std::size_t>(time_axis));
  Shape along(static_cast<std::size_t>(x.ndim()), 1), across = along;
  along[static_cast<std::size_t>(time_axis)] = steps;
  across[static_cast<std::size_t>(batch_axis)] = axis_length(x, static_cast<std::size_t>(batch_axis));
  const Array time = reshape(Array::arange(steps), along);
  const Array lengths = reshape(cast(call[1], DType::i64), across);
  const Array from = where(less(time, lengths), lengths - 1 - time, time);
  return {take_along_axis(x, broadcast_to(from, x.shape()), time_axis)};
}

// Each axis cut or padded to its length, as evenly on both sides as it goes.
Outputs centred(const OperatorCall& call) {
  Array x = call[0];
  const std::vector<std::int64_t> lengths = call.integers_in(1);
  std::vector<std::int64_t> axes = call.integers("axes");
  if (axes.empty()) {
    for (std::int64_t i = 0; i < x.ndim(); ++i) axes.push_back(i);
  }
  call.require_bounded("shape", lengths);
  if (axes.size() != lengths.size()) call.refuse(lengths.size(), " lengths for ", axes.size(), " axes");
  IntList before(static_cast<std::size_t>(x.ndim()), 0), after = before;
  std::vector<Index> kept(static_cast<std::size_t>(x.ndim()), Index(all));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + x.ndim() : axes[i];
    if (axis < 0 || axis >= x.ndim()) call.refuse("axis ", axes[i], " of shape ", x.shape());
    const auto at = static_cast<std::size_t>(axis);
    if (lengths[i] < 0) call.refuse("a length of ", lengths[i]);
    const std::int64_t more = lengths[i] - axis_length(x, at);
    if (more >= 0) {
      before[at] = more / 2;
      after[at] = more - more / 2;
    } else {
      kept[at] = slice(-more / 2, -more / 2 + lengths[i]);
    }
  }
  return {pad(std::as_const(x).get(kept), before, after)};
}

constexpr OperatorRow movement_table[] = {
    {"CenterCropPad", 18, centred},
    {"Concat", 1, joined},
    {"Pad", 2, pad_by_attributes},
    {"Pad", 11, pad_by_inputs},
    {"ReverseSequence", 10, reversed_sequences},
    {"Slice", 1, slice_by_attributes},
    {"Slice", 10, slice_by_inputs},
    {"Tile", 6, tiled},
    {"Trilu", 14, triangle},
};

}  // namespace

std::span<const OperatorRow> movement_rows() { return movement_table; }

}  // namespace tyto::onnx
