// SPDX-License-Identifier: MIT
// Loops of factorisations compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/linalg/vector_loops.inc"
