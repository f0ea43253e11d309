// SPDX-License-Identifier: MIT
// Compiles Eigen's factorisations for the machine they run on.
#define TYTO_EIGEN_NAMESPACE EigenNative
#define TYTO_EIGEN_FUNCTION native_eigen
#include "bench/linalg/eigen_yardstick.inc"
