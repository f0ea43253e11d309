// SPDX-License-Identifier: MIT
// Loops of factorisations compiled for the instruction set that every processor has.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/linalg/vector_loops.inc"
