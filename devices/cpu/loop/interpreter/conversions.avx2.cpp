// SPDX-License-Identifier: MIT
// The conversions and strided copies compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#include "devices/cpu/loop/interpreter/conversions.inc"
