// SPDX-License-Identifier: MIT
// Loops of attention compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/products/attention/row_loops.inc"
