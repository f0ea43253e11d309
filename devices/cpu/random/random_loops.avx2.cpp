// SPDX-License-Identifier: MIT
// The random distributions compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#include "devices/cpu/random/random_loops.inc"
