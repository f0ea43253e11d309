// The compiled loop of an operator on an operand type.
#pragma once

#include "core/operator.hpp"
#include "devices/cpu/elementwise/tile_loops.hpp"

namespace tyto::cpu {

/// `type`: boolean, i32, i64, f32 or f64. Throws DeviceError where the operator is not defined on it.
TileLoop find_loop(const TileLoops& loops, core::OpId op, DType type);

}  // namespace tyto::cpu
