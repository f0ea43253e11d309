// SPDX-License-Identifier: MIT
// Elements found by index, and values put where an index says.
#include "tyto/indexing.hpp"

#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs gathered(const OperatorCall& call) { return {take(call[0], call[1], call.axis(0, call[0].ndim()))}; }

Outputs gathered_elements(const OperatorCall& call) {
  const std::int64_t axis = call.axis(0, call[0].ndim());
  // Other axes may be longer in the data than in the indices.
  std::vector<Index> entries;
  for (std::size_t i = 0; i < call[1].shape().size(); ++i) {
    if (static_cast<std::int64_t>(i) == axis) entries.emplace_back(all);
    else entries.emplace_back(slice(0, axis_length(call[1], i)));
  }
  return {take_along_axis(call[0].get(entries), call[1], axis)};
}

// The last axis of `indices` holds coordinates, for the axes from `first` on; those before are gone through.
std::vector<Array> coordinates_in(const Array& indices, std::int64_t batch_axes) {
  const std::int64_t rank = indices.ndim(), count = axis_length(indices, static_cast<std::size_t>(rank - 1));
  if (batch_axes < 0 || batch_axes >= rank) {
    core::throw_error<IndexError>("batch_dims ", batch_axes, " of indices ", indices.shape());
  }
  std::vector<Array> coordinates;
  for (std::int64_t axis = 0; axis < batch_axes; ++axis) {
    Shape along(static_cast<std::size_t>(rank - 1), 1);
    along[static_cast<std::size_t>(axis)] = axis_length(indices, static_cast<std::size_t>(axis));
    coordinates.push_back(reshape(Array::arange(along[static_cast<std::size_t>(axis)]), along));
  }
  for (std::int64_t i = 0; i < count; ++i) coordinates.push_back(at_position(indices, -1, i));
  return coordinates;
}

Outputs gathered_at(const OperatorCall& call) {
  return {gather(call[0], coordinates_in(call[1], call.integer("batch_dims", 0)))};
}

/// How a value meets what is there already.
Array combined(const OperatorCall& call, std::string_view how, const Array& x, const std::vector<Array>& coordinates,
               const Array& values) {
  if (how == "none") return scatter(x, coordinates, values);
  if (how == "add") return scatter_add(x, coordinates, values);
  if (how == "mul") return scatter_multiply(x, coordinates, values);
  if (how == "max") return scatter_max(x, coordinates, values);
  if (how == "min") return scatter_min(x, coordinates, values);
  call.refuse("reduction '", how, "'; known are none, add, mul, max and min");
}

Outputs scattered_elements(const OperatorCall& call) {
  const std::int64_t axis = call.axis(0, call[0].ndim());
  const Array& indices = call[1];
  std::vector<Array> coordinates;
  for (std::int64_t i = 0; i < indices.ndim(); ++i) {
    if (i == axis) {
      coordinates.push_back(indices);
      continue;
    }
    Shape along(static_cast<std::size_t>(indices.ndim()), 1);
    along[static_cast<std::size_t>(i)] = axis_length(indices, static_cast<std::size_t>(i));
    coordinates.push_back(
        broadcast_to(reshape(Array::arange(along[static_cast<std::size_t>(i)]), along), indices.shape()));
  }
  if (indices.size() == 0) return {call[0]};
  return {combined(call, call.text("reduction", "none"), call[0], coordinates, call[2])};
}

Outputs scattered_at(const OperatorCall& call) {
  const std::string_view how = call.text("reduction", "none");
  if (call[1].size() == 0) return {call[0]};
  return {combined(call, how, call[0], coordinates_in(call[1], 0), call[2])};
}

// Classes count from the end where they are negative; those outside of [-depth, depth) give no one.
Outputs one_hot_along(const OperatorCall& call) {
  const Array classes = cast(call[0], DType::i64), &values = call[2];
  const std::int64_t depth = call.integer_in(1), axis = call.axis(-1, classes.ndim() + 1);
  const Array off = reshape(at_position(values, 0, 0), {}), on = reshape(at_position(values, 0, 1), {});
  const Array hot = one_hot(where(less(classes, 0), classes + depth, classes), depth, DType::boolean);
  return {where(moveaxis(hot, -1, axis), on, off)};
}

// Operators whose result's shape depends on elements.

Outputs nonzero_places(const OperatorCall& call) {
  call.require_known(0);
  return {transpose(nonzero(Tensor<Any>(call[0])))};
}

Outputs compressed(const OperatorCall& call) {
  const std::vector<std::int64_t> condition = call.integers_in(1);
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  const Array where_true = Array::from(places, {static_cast<std::int64_t>(places.size())});
  if (!call.has("axis")) return {take(reshape(call[0], {-1}), where_true, 0)};
  return {take(call[0], where_true, call.axis(0, call[0].ndim()))};
}

// Distinct elements, or distinct slices along an axis, with where each came from: by size, or as they came.
Outputs distinct(const OperatorCall& call) {
  call.require_known(0);
  UniqueOptions options;
  if (call.has("axis")) options.axis = call.axis(0, call[0].ndim());
  const bool by_size = call.integer("sorted", 1) != 0;
  Unique<Any> found = unique_all(call[0], options);
  Array inverse = reshape(found.inverse, {-1});
  if (!by_size) {
    const Array order = argsort(found.indices);
    found.values = take(found.values, order, options.axis.value_or(0));
    found.indices = take(found.indices, order, 0);
    found.counts = take(found.counts, order, 0);
    inverse = take(argsort(order), inverse, 0);
  }
  return {found.values, cast(found.indices, DType::i64), cast(inverse, DType::i64), cast(found.counts, DType::i64)};
}

constexpr OperatorRow index_table[] = {
    {"Compress", 9, compressed},
    {"Gather", 1, gathered},
    {"GatherElements", 11, gathered_elements},
    {"GatherND", 11, gathered_at},
    {"NonZero", 9, nonzero_places},
    {"OneHot", 9, one_hot_along},
    {"Scatter", 9, scattered_elements},
    {"ScatterElements", 11, scattered_elements},
    {"ScatterND", 11, scattered_at},
    {"Unique", 11, distinct},
};

}  // namespace

std::span<const OperatorRow> index_rows() { return index_table; }

}  // namespace tyto::onnx
