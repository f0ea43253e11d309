// SPDX-License-Identifier: MIT
// Minima, maxima and their places compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/reduce/extreme.inc"
