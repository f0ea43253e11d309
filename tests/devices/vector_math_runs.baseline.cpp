// SPDX-License-Identifier: MIT
// The vector mathematics compiled for the instruction set baseline.
#define TYTO_ISA baseline
#include "tests/devices/vector_math_runs.inc"
