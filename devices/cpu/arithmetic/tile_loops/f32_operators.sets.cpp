// SPDX-License-Identifier: MIT
// The single-precision operators.
#include "devices/cpu/arithmetic/tile_loops/operator_loops.hpp"

#define TYTO_OPERAND float
#define TYTO_TABLE f32_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"
