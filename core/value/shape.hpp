// SPDX-License-Identifier: MIT
// Shape arithmetic shared by inference and kernels: broadcasting, axis normalisation, slices, windows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {

/// Row-major strides over `shape`. Those that no int64 holds, of a tensor without elements, are 0.
Strides row_major(const Shape& shape);

/// The shape two operands broadcast to, by NumPy's rules. Throws ShapeError naming `op` and both shapes.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b);

/// True when `from` can be stretched to `to` by NumPy's rules.
bool broadcastable(const Shape& from, const Shape& to);

/// An axis counted from the front. Throws IndexError naming `op` when it is outside [-rank, rank).
int normalise_axis(std::string_view op, std::int64_t axis, int rank);

/// The listed axes counted from the front, ascending and without repetition (which throws); all axes when none is
/// named.
IntList normalise_axes(std::string_view op, const Axes& axes, int rank);

/// `shape` with the (normalised) axes removed, or set to one when `keep` is true.
Shape reduced_shape(const Shape& shape, const IntList& axes, bool keep);

/// Product of two counts. Throws ShapeError on overflow.
std::int64_t checked_product(std::int64_t a, std::int64_t b);

/// Spatial output size of a sliding window. Throws ShapeError when the window is larger than the padded input.
std::int64_t window_count(std::string_view op, std::int64_t size, std::int64_t window, std::int64_t stride,
                          std::int64_t dilation, std::int64_t before, std::int64_t after);

}  // namespace tyto::core
