// Chains compiled for the baseline instruction set, without contraction.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/elementwise/chain_loops.inc"
