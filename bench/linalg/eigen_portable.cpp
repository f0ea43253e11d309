// SPDX-License-Identifier: MIT
// Compiles Eigen's factorisations for the baseline instruction set, as in a library that is to run everywhere.
#define TYTO_EIGEN_NAMESPACE EigenPortable
#define TYTO_EIGEN_FUNCTION portable_eigen
#include "bench/linalg/eigen_yardstick.inc"
