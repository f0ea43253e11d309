// SPDX-License-Identifier: MIT
// Products with weights of few bits compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/products/quantised/quantised_loops.inc"
