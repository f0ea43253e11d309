// SPDX-License-Identifier: MIT
// The conversions and strided copies compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "devices/cpu/loop/interpreter/conversions.inc"
