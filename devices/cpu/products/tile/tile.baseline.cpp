// SPDX-License-Identifier: MIT
// The register tile compiled for the baseline instruction set.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#if defined(__aarch64__)
#define TYTO_TILE_VECTORS 4  // twice the registers
#else
#define TYTO_TILE_VECTORS 2
#endif
#include "devices/cpu/products/tile/tile_kernels.inc"
