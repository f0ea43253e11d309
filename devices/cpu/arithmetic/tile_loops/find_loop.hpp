// SPDX-License-Identifier: MIT
// Finds the compiled loop of an operator or of a conversion, and converts single numbers.
#pragma once

#include <bit>

#include "core/graph/operator.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"

namespace tyto::cpu {

/// The place of a type in tables by width.
inline std::size_t width_index(DType type) { return static_cast<std::size_t>(std::countr_zero(size_of(type))); }

/// The loop that converts elements of one type to another.
inline TileLoop conversion(const TileLoops& loops, DType from, DType to) {
  return loops.convert[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

/// `type`: boolean, i32, i64, u64, f32 or f64. Throws DeviceError where the operator is not defined on it.
TileLoop find_loop(const TileLoops& loops, core::OpId op, DType type);

/// A number as an element of `type`, in the low bytes.
std::uint64_t element_bits(const TileLoops& loops, const Scalar& number, DType type);

}  // namespace tyto::cpu
