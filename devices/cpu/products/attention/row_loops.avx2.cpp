// SPDX-License-Identifier: MIT
// Loops of attention compiled for AVX2.
#define TYTO_ISA avx2
#include "devices/cpu/products/attention/row_loops.inc"
