// SPDX-License-Identifier: MIT
// The stages of eigenvalues of general real matrices: Hessenberg form, real Schur form, eigenvectors of that.
#pragma once

#include "devices/cpu/linalg/factorisations.hpp"

namespace tyto::cpu::linalg {

/// Elements of workspace for reduce_to_hessenberg.
std::int64_t hessenberg_workspace(std::int64_t size) noexcept;

/// Q^T a Q with zeros below the first subdiagonal, in place of a. `turned` becomes Q^T where it has an address.
template <class T>
void reduce_to_hessenberg(const KernelContext<T>& context, const Matrix<T>& a, const Matrix<T>& turned,
                          T* workspace) noexcept;

/// Elements of workspace for reduce_to_schur.
std::int64_t schur_workspace() noexcept;

/// A Hessenberg matrix to a block triangle: its diagonal has numbers, which are eigenvalues, and blocks of two rows for
/// pairs of complex ones, the one with the positive imaginary part first. Where `turned` has an address, which holds
/// Q^T, it is multiplied with Z^T of Z^T h Z, and all of the block triangle is made. False where the iteration did not
/// converge.
template <class T>
bool reduce_to_schur(const VectorLoops<T>& loops, const Matrix<T>& h, const Matrix<T>& turned, T* values_re,
                     T* values_im, T* workspace) noexcept;

/// Rows of x become the eigenvectors of a block triangle with these eigenvalues: one row for a real one; for a pair the
/// real and the imaginary part of the vector of its first. They are of any length.
template <class T>
void solve_for_schur_vectors(const VectorLoops<T>& loops, const Matrix<T>& t, const T* values_re, const T* values_im,
                             const Matrix<T>& x) noexcept;

}  // namespace tyto::cpu::linalg
