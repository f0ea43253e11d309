// SPDX-License-Identifier: MIT
// View: the shape, strides and offset of a tensor in its storage, a value type with pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/value/shape.hpp"

namespace tyto::core {

/// Element (i, j, ...) of a tensor is element `offset + i*strides[0] + j*strides[1] + ...` of its storage.
struct View {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  static View dense(Shape shape) {
    Strides strides = row_major(shape);
    return {std::move(shape), std::move(strides), 0};
  }
  int rank() const { return shape.rank(); }
  std::int64_t count() const { return element_count(shape); }
  friend bool operator==(const View&, const View&) = default;
};

/// Half-open range of storage elements that a view touches; empty for a view without elements.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t past = 0;
};

/// Row-major and without gaps (strides of axes of length one do not matter).
bool is_dense(const View& view);

/// Both show the same elements at the same positions.
bool same_layout(const View& a, const View& b);

/// Storage elements between the lowest and the highest that the view can reach.
ElementRange touched(const View& view);

/// False only when no element can be common; judged by the touched ranges.
bool may_overlap(const View& a, const View& b);

/// True when two different positions share an element (a broadcast axis).
bool repeats_elements(const View& view);

/// Axes in the order `order` (normalised, a permutation).
View permute(const View& view, const IntList& order);
/// The order that undoes `order`.
IntList inverse_order(const IntList& order);

/// Stretched to `shape`, which it must broadcast to.
View broadcast_to(const View& view, const Shape& shape);

/// Along each axis: `count[i]` elements from `start[i]` in steps of `step[i]` (steps may be negative, never zero).
View slice(const View& view, const IntList& start, const IntList& count, const IntList& step);

/// The same elements in row-major order under another shape, if strides can express it.
std::optional<View> reshape(const View& view, const Shape& shape);

/// Neighbouring axes merged where all views allow it (all views have one shape); axes of length one dropped.
/// Keeps the order of the remaining axes. Used to give kernels few, long loops.
void collapse(std::span<View> views);

}  // namespace tyto::core
