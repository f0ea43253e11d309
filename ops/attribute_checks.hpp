// SPDX-License-Identifier: MIT
// Checks of attributes for shape rules: a graph file may hold any numbers.
#pragma once

#include <string_view>

#include "core/graph/attributes.hpp"
#include "core/graph/symbol.hpp"

namespace tyto::core {

/// An axis among an operator's attributes, which are normalised. Throws IndexError when it is not one of shape's.
std::size_t axis_among(std::string_view op, std::int64_t axis, const Shape& shape);

/// Axes are shape's own, ascending, none twice.
void check_axes(std::string_view op, const IntList& axes, const Shape& shape);

/// One entry for each of shape's axes.
void check_entries(std::string_view op, std::string_view what, const IntList& list, const Shape& shape);

/// No negative length, and no more elements than can be counted.
void check_lengths(std::string_view op, const Shape& shape);

/// The part lies inside of the shape.
void check_part(std::string_view op, const SliceAttributes& part, const Shape& shape);

/// Throws unless the order names every axis of `shape` once.
void check_order(std::string_view op, const IntList& order, const Shape& shape);

/// Both operands have one element type.
void check_same_type(std::string_view op, const TensorType& a, const TensorType& b);

}  // namespace tyto::core
