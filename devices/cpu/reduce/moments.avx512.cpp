// SPDX-License-Identifier: MIT
// Variances and sums of exponentials compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/reduce/moments.inc"
