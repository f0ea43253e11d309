// SPDX-License-Identifier: MIT
// Products with weights of few bits compiled for the baseline instruction set.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/products/quantised/quantised_loops.inc"
