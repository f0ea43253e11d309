// SPDX-License-Identifier: MIT
// Sorting of keys compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/sort/sort_loops.inc"
