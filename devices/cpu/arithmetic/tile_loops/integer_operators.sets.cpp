// SPDX-License-Identifier: MIT
// The operators on integers and bools.
#include "devices/cpu/arithmetic/tile_loops/operator_loops.hpp"

#define TYTO_OPERAND int32_t
#define TYTO_TABLE i32_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"

#define TYTO_OPERAND int64_t
#define TYTO_TABLE i64_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"

#define TYTO_OPERAND uint64_t
#define TYTO_TABLE u64_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"

#define TYTO_OPERAND Boolean
#define TYTO_TABLE boolean_operators
#include "devices/cpu/arithmetic/tile_loops/operator_table.inc"
