// SPDX-License-Identifier: MIT
// The random distributions compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/random/random_loops.inc"
