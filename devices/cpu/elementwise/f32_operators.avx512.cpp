// The single-precision operators compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/elementwise/operator_loops.hpp"

#define TYTO_OPERAND float
#define TYTO_TABLE f32_operators
#include "devices/cpu/elementwise/operator_table.inc"
