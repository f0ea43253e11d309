// SPDX-License-Identifier: MIT
// The random distributions compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "devices/cpu/random/random_loops.inc"
