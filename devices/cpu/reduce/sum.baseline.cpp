// SPDX-License-Identifier: MIT
// Sums, products, any and all compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/reduce/sum.inc"
