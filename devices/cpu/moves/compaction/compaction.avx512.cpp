// SPDX-License-Identifier: MIT
// Compaction by masks compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/moves/compaction/compaction.inc"
