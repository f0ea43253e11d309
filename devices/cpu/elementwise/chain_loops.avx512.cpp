// Chains compiled for the avx512 instruction set, without contraction.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/elementwise/chain_loops.inc"
