// Pairs of arithmetic operators compiled for the avx512 instruction set.
#define TYTO_ISA avx512
#include "devices/cpu/elementwise/arithmetic_pairs.inc"
