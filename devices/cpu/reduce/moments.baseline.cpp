// SPDX-License-Identifier: MIT
// Variances and sums of exponentials compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/reduce/moments.inc"
