// Pairs of arithmetic operators compiled for the avx2 instruction set.
#define TYTO_ISA avx2
#include "devices/cpu/elementwise/arithmetic_pairs.inc"
