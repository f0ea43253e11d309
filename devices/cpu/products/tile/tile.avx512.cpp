// SPDX-License-Identifier: MIT
// The register tile compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#define TYTO_TILE_VECTORS 4
#include "devices/cpu/products/tile/tile_kernels.inc"
