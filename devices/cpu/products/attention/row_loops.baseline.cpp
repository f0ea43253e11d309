// SPDX-License-Identifier: MIT
// Loops of attention compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/products/attention/row_loops.inc"
