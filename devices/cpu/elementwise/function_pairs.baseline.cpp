// Pairs of operators with functions compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "devices/cpu/elementwise/function_pairs.inc"
