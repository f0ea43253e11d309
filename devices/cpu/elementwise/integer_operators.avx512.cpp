// The operators on integers and bools compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/elementwise/operator_loops.hpp"

#define TYTO_OPERAND int32_t
#define TYTO_TABLE i32_operators
#include "devices/cpu/elementwise/operator_table.inc"

#define TYTO_OPERAND int64_t
#define TYTO_TABLE i64_operators
#include "devices/cpu/elementwise/operator_table.inc"

#define TYTO_OPERAND Boolean
#define TYTO_TABLE boolean_operators
#include "devices/cpu/elementwise/operator_table.inc"
