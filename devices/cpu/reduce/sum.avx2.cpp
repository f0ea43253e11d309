// SPDX-License-Identifier: MIT
// Sums, products, any and all compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/reduce/sum.inc"
