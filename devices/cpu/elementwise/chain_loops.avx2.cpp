// Chains compiled for the avx2 instruction set, without contraction.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/elementwise/chain_loops.inc"
