// Pairs of operators with functions compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#include "devices/cpu/elementwise/function_pairs.inc"
