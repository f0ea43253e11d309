// SPDX-License-Identifier: MIT
// Small matrix products compiled for the baseline instruction set.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/products/matmul/small_product.inc"
