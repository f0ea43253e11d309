// SPDX-License-Identifier: MIT
// Loops of attention compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/products/attention/row_loops.inc"
