// SPDX-License-Identifier: MIT
// Loops of Fourier transforms compiled for the baseline.
#define TYTO_ISA baseline
#define TYTO_VECTOR_BYTES 16
#include "devices/cpu/fft/passes.inc"
