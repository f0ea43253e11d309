// SPDX-License-Identifier: MIT
// Minima, maxima and their places compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/reduce/extreme.inc"
