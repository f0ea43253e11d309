// SPDX-License-Identifier: MIT
// Minima, maxima and their places compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/reduce/extreme.inc"
