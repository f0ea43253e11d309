// SPDX-License-Identifier: MIT
// Loops of Fourier transforms compiled for AVX-512.
#define TYTO_ISA avx512
#define TYTO_VECTOR_BYTES 64
#include "devices/cpu/fft/passes.inc"
