// SPDX-License-Identifier: MIT
// Loops of factorisations compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/linalg/vector_loops.inc"
