// SPDX-License-Identifier: MIT
// The hand-written chains compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "bench/kernels/hand_loops.inc"
