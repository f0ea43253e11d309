// SPDX-License-Identifier: MIT
// Loops of attention compiled for every processor.
#define TYTO_ISA baseline
#include "devices/cpu/products/attention/row_loops.inc"
