// SPDX-License-Identifier: MIT
// The hand-written chains compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "bench/fused/chain_loops.inc"
