// SPDX-License-Identifier: MIT
// Small matrix products compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/products/matmul/small_product.inc"
