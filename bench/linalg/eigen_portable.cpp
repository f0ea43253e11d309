// SPDX-License-Identifier: MIT
// Eigen compiled for what every processor has, as in a library that is to run everywhere.
#define TYTO_EIGEN_NAMESPACE EigenPortable
#define TYTO_EIGEN_FUNCTION portable_eigen
#include "bench/linalg/eigen_yardstick.inc"
