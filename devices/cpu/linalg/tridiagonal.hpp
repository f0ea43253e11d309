// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of symmetric tridiagonal matrices: by iteration, and by division into halves.
#pragma once

#include <cstdint>

#include "devices/cpu/linalg/rotations.hpp"

namespace tyto::cpu::linalg {

/// Makes eigenvalues of the diagonal d, in no order, by implicit QR sweeps; e, one shorter, is what lies beside it and
/// becomes zero. False where it does not converge.
template <class T>
bool iterate_tridiagonal(std::int64_t size, T* d, T* e, RotationSweeps<T>& rotations) noexcept;

/// The same where no vectors are wanted, by fewer operations; e is used up.
template <class T>
bool tridiagonal_eigenvalues(std::int64_t size, T* d, T* e) noexcept;

/// Elements of workspace for divide_tridiagonal.
std::int64_t division_workspace(std::int64_t size) noexcept;

/// Eigenvalues, in no order, in place of the diagonal d, and their eigenvectors as the rows of x.
template <class T>
bool divide_tridiagonal(const KernelContext<T>& context, T* d, T* e, Matrix<T> x, T* workspace) noexcept;

}  // namespace tyto::cpu::linalg
