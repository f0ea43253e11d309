// The conversions and strided copies compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/elementwise/conversions.inc"
