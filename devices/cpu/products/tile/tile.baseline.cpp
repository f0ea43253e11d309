// SPDX-License-Identifier: MIT
// The register tile compiled for the baseline instruction set.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#define TYTO_TILE_VECTORS 2
#include "devices/cpu/products/tile/tile_kernels.inc"
