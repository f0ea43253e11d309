// SPDX-License-Identifier: MIT
// Loops of attention compiled for AVX-512.
#define TYTO_ISA avx512
#include "devices/cpu/products/attention/row_loops.inc"
