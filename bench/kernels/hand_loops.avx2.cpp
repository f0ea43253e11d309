// SPDX-License-Identifier: MIT
// The hand-written chains compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#include "bench/kernels/hand_loops.inc"
