// SPDX-License-Identifier: MIT
// The vector mathematics compiled for the instruction set avx2.
#define TYTO_ISA avx2
#include "tests/devices/vector_math_runs.inc"
