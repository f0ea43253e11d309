// softmax and log_softmax compiled for AVX2.
#define TYTO_ISA avx2
#define TYTO_VECTOR_BYTES 32
#include "devices/cpu/softmax/softmax_loops.inc"
