// SPDX-License-Identifier: MIT
// The double-precision operators.
#include "devices/cpu/arithmetic/tile_loops/operator_loops.hpp"

#define TYTO_OPERAND double
#define TYTO_TABLE f64_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"
