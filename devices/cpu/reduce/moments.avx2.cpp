// SPDX-License-Identifier: MIT
// Variances and sums of exponentials compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/reduce/moments.inc"
