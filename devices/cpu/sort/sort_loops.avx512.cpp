// SPDX-License-Identifier: MIT
// Sorting of keys compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/sort/sort_loops.inc"
