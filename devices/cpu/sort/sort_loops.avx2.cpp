// SPDX-License-Identifier: MIT
// Sorting of keys compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/sort/sort_loops.inc"
