// SPDX-License-Identifier: MIT
// The factorisations of one matrix: each works in place or in the workspace that it is given, and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/linalg/matrix.hpp"

namespace tyto::cpu::linalg {

/// P a = L U by partial pivoting, L (unit diagonal) and U in place of a. Step i exchanged rows i and pivots[i]. Returns
/// the first diagonal element of U that is zero, counted from one, or 0. KernelContext::packed has workspace for
/// lu_width() columns.
template <class T>
std::int64_t factorise_lu(const KernelContext<T>& context, Matrix<T> a, std::int64_t* pivots) noexcept;

std::int64_t lu_width(std::int64_t rows, std::int64_t columns) noexcept;

/// The order of rows that the exchanges make of 0, 1, ..: row i of P a is row permutation[i] of a.
void permutation_of(const std::int64_t* pivots, std::int64_t exchanges, std::int64_t* permutation,
                    std::int64_t rows) noexcept;

/// a = L L^T, L in place of a's lower triangle, which alone is read. Returns the first pivot that is not positive,
/// counted from one, or 0.
template <class T>
std::int64_t factorise_cholesky(const KernelContext<T>& context, Matrix<T> a) noexcept;

/// How many reflections are applied together.
inline constexpr std::int64_t reflection_block = 32;

/// Elements of workspace for factorise_qr and form_q: of an m x n matrix, with up to `width` columns multiplied.
std::int64_t qr_workspace(std::int64_t rows, std::int64_t columns, std::int64_t width) noexcept;

/// a = Q R of a matrix with no fewer rows than columns: R in the upper triangle, reflections below it; `factors`
/// receives one number a column.
template <class T>
void factorise_qr(const KernelContext<T>& context, Matrix<T> a, T* factors, T* workspace) noexcept;

/// The first columns of the Q whose reflections factorise_qr left in a; q has a's rows.
template <class T>
void form_q(const KernelContext<T>& context, Matrix<const T> a, const T* factors, Matrix<T> q, T* workspace) noexcept;

/// c becomes Q c for the whole, square Q of those reflections.
template <class T>
void multiply_by_q(const KernelContext<T>& context, Matrix<const T> a, const T* factors, Matrix<T> c,
                   T* workspace) noexcept;

/// Elements of workspace for decompose_symmetric.
std::int64_t eigen_workspace(std::int64_t size, bool vectors) noexcept;

/// Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns in place of a where they are
/// wanted. Reads a's lower triangle and overwrites all of it. False where the iteration did not converge: for NaN.
template <class T>
bool decompose_symmetric(const KernelContext<T>& context, Matrix<T> a, bool vectors, T* values, T* workspace) noexcept;

/// Elements of workspace for decompose_singular.
/// u_columns is 0 where no vectors are wanted.
std::int64_t singular_workspace(std::int64_t rows, std::int64_t columns, std::int64_t u_columns) noexcept;

/// a = U diag(values) V^T with values in descending order, for a matrix with no fewer rows than columns, which is
/// overwritten. u has a's rows and at least its columns, v^T is square; both are without address where they are not
/// wanted. False where the iteration did not converge: for NaN.
template <class T>
bool decompose_singular(const KernelContext<T>& context, Matrix<T> a, T* values, Matrix<T> u, Matrix<T> v_transposed,
                        T* workspace) noexcept;

/// A complex matrix as two real ones of one shape.
template <class T>
struct Parts {
  Matrix<T> re, im;
};

/// Elements of workspace for decompose_general.
std::int64_t general_workspace(std::int64_t size, bool vectors) noexcept;

/// Eigenvalues of any square complex matrix, which is overwritten, and where they are wanted its eigenvectors, of
/// length one, as rows of `vectors`. False where the iteration did not converge: for what is not finite.
template <class T>
bool decompose_general(const KernelContext<T>& context, Parts<T> a, T* values_re, T* values_im, const Parts<T>* vectors,
                       T* workspace) noexcept;

/// Elements of workspace for decompose_real_general.
std::int64_t real_general_workspace(std::int64_t size, bool vectors) noexcept;

/// As decompose_general, of a real matrix: complex eigenvalues and vectors come in conjugate pairs.
template <class T>
bool decompose_real_general(const KernelContext<T>& context, Matrix<T> a, T* values_re, T* values_im,
                            const Parts<T>* vectors, T* workspace) noexcept;

/// As of a real matrix, of a complex one; pivots are largest by the sum of their parts' sizes, as LAPACK's.
template <class T>
std::int64_t factorise_lu(const KernelContext<T>& context, Parts<T> a, std::int64_t* pivots) noexcept;

/// As of a real matrix: a = L L^H with a real diagonal. Only the real parts of a's diagonal are read.
template <class T>
std::int64_t factorise_cholesky(const KernelContext<T>& context, Parts<T> a) noexcept;

/// As of real matrices. Rows of b are contiguous.
template <class T>
void solve_triangular(const KernelContext<T>& context, const Parts<T>& t, Triangle triangle, bool unit,
                      const Parts<T>& b) noexcept;

/// Elements of workspace for decompose_qr.
std::int64_t complex_qr_workspace(std::int64_t rows, std::int64_t columns) noexcept;

/// a = Q R of a matrix with no fewer rows than columns: R, whose diagonal is real, in the upper triangle of a, and the
/// first columns of Q in q.
template <class T>
void decompose_qr(const KernelContext<T>& context, Parts<T> a, Parts<T> q, T* workspace) noexcept;

/// Elements of workspace for decompose_symmetric of a Hermitian matrix.
std::int64_t hermitian_workspace(std::int64_t size, bool vectors) noexcept;

/// As of a symmetric matrix, of a Hermitian one without gaps, of which both triangles are read.
template <class T>
bool decompose_symmetric(const KernelContext<T>& context, Parts<T> a, bool vectors, T* values, T* workspace) noexcept;

/// Elements of workspace for decompose_singular of a complex matrix.
std::int64_t complex_singular_workspace(std::int64_t rows, std::int64_t columns, std::int64_t u_columns) noexcept;

/// As of a real matrix: a = U diag(values) V^H.
template <class T>
bool decompose_singular(const KernelContext<T>& context, Parts<T> a, T* values, const Parts<T>& u,
                        const Parts<T>& v_adjoint, T* workspace) noexcept;

/// Elements of workspace for exponential.
std::int64_t exponential_workspace(std::int64_t size) noexcept;

/// e^a by scaling and squaring.
template <class T>
void exponential(const KernelContext<T>& context, Matrix<const T> a, Matrix<T> result, std::int64_t* pivots,
                 T* workspace) noexcept;

}  // namespace tyto::cpu::linalg
