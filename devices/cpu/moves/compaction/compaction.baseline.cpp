// SPDX-License-Identifier: MIT
// Compaction by masks compiled for every processor.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/moves/compaction/compaction.inc"
