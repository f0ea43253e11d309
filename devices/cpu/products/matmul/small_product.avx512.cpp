// SPDX-License-Identifier: MIT
// Small matrix products compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/products/matmul/small_product.inc"
