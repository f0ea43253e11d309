// Pairs of arithmetic operators compiled for the baseline instruction set.
#define TYTO_ISA baseline
#include "devices/cpu/elementwise/arithmetic_pairs.inc"
