// SPDX-License-Identifier: MIT
// The register tile compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#define TYTO_TILE_VECTORS 2
#include "devices/cpu/products/tile/tile_kernels.inc"
