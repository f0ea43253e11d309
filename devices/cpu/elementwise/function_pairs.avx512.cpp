// Pairs of operators with functions compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/elementwise/function_pairs.inc"
