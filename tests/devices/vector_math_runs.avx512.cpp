// SPDX-License-Identifier: MIT
// The vector mathematics compiled for the instruction set avx512.
#define TYTO_ISA avx512
#include "tests/devices/vector_math_runs.inc"
