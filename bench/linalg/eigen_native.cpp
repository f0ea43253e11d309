// SPDX-License-Identifier: MIT
// Eigen compiled for the machine it runs on.
#define TYTO_EIGEN_NAMESPACE EigenNative
#define TYTO_EIGEN_FUNCTION native_eigen
#include "bench/linalg/eigen_yardstick.inc"
