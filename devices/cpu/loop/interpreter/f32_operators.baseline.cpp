// SPDX-License-Identifier: MIT
// The single-precision operators compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "devices/cpu/loop/interpreter/operator_loops.hpp"

#define TYTO_OPERAND float
#define TYTO_TABLE f32_operators
#include "devices/cpu/loop/interpreter/operator_table.inc"
