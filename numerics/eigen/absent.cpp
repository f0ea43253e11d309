// SPDX-License-Identifier: MIT
// Returns no kernels in builds without Eigen.
#ifndef TYTO_HAVE_EIGEN

#include "numerics/eigen/kernels.hpp"

namespace tyto::eigen_kernels {

Kernels schur() { return {}; }
Kernels hess() { return {}; }
Kernels qz() { return {}; }
Kernels ordschur() { return {}; }
Kernels ordqz() { return {}; }
Kernels ldl() { return {}; }
Kernels symmetric_ldl() { return {}; }
Kernels sqrtm() { return {}; }
Kernels logm() { return {}; }
Kernels sylvester() { return {}; }
Kernels stein() { return {}; }

}  // namespace tyto::eigen_kernels

#endif
