// SPDX-License-Identifier: MIT
// Instantiates the interpreter's loops of single-precision operators.
#include "devices/cpu/loop/interpreter/operator_loops.hpp"

#define TYTO_OPERAND float
#define TYTO_TABLE f32_operators
#include "devices/cpu/loop/interpreter/operator_table.inc"
