// SPDX-License-Identifier: MIT
// Products with weights of few bits compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/products/quantised/quantised_loops.inc"
