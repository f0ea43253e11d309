// SPDX-License-Identifier: MIT
// Instantiates the interpreter's loops of double-precision operators.
#include "devices/cpu/loop/interpreter/operator_loops.hpp"

#define TYTO_OPERAND double
#define TYTO_TABLE f64_operators
#include "devices/cpu/loop/interpreter/operator_table.inc"
