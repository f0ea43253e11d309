// SPDX-License-Identifier: MIT
// Compaction by masks compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/moves/compaction/compaction.inc"
