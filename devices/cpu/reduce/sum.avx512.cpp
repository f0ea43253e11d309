// SPDX-License-Identifier: MIT
// Sums, products, any and all compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/reduce/sum.inc"
