// SPDX-License-Identifier: MIT
// Schur forms, pairs of matrices, functions of matrices and matrix equations, as scipy.linalg and Owl's Linalg.
//
// As in tyto/linalg.hpp a matrix is the last two axes, the axes before them are a stack, and stacks broadcast; f32,
// f64, c64 and c128 are taken, integers become f32. What is marked "by Eigen" is computed in f64 or c128 on the host,
// allocates there, has no place in saved graphs, and is a DeviceError in a build without Eigen. What has no result is a
// ValueError in eager mode and NaN in a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "tyto/linalg.hpp"

namespace tyto {
namespace linalg TYTO_API {

// Schur and Hessenberg forms: factors that are not unique and have no gradient.

/// a = z t z^H, z unitary: t is an upper triangle, of a real matrix with blocks of two rows for pairs of complex
/// eigenvalues.
template <class M>
struct Schur {
  Tensor<M> t, z;  ///< the triangle, and the unitary factor
};
/// The Schur form, by Eigen; cast a to complex for a triangle without blocks.
template <class M>
Schur<M> schur(const Tensor<M>& a);
/// The form with the eigenvalues for which `select` holds first, by Eigen. `select` has an element for each row of t;
/// either row selects a pair.
template <class M>
Schur<M> ordschur(const Schur<M>& form, const std::type_identity_t<Tensor<M>>& select);

/// a = q h q^H, q unitary and h zero below its first subdiagonal.
template <class M>
struct Hessenberg {
  Tensor<M> h, q;  ///< the Hessenberg matrix, and the unitary factor
};
/// The Hessenberg form, by Eigen.
template <class M>
Hessenberg<M> hess(const Tensor<M>& a);

/// a = q s z^H and b = q t z^H, q and z unitary, s and t upper triangles; of real matrices s has blocks of two rows.
template <class M>
struct QZ {
  Tensor<M> s, t, q, z;  ///< the triangles of a and b, and the unitary factors
};
/// The generalised Schur form, by Eigen.
template <class M>
QZ<M> qz(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The form with the eigenvalues for which `select` holds first, by Eigen; as ordschur.
template <class M>
QZ<M> ordqz(const QZ<M>& form, const std::type_identity_t<Tensor<M>>& select);
/// The eigenvalues of the pair, complex, by Eigen: infinite where b is singular, NaN where det(a - w b) is 0 for all w.
template <class M>
Tensor<M> qzvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);

/// a = l d l^H: l[permutation] is a lower triangle with ones on its diagonal, d has blocks of one and two rows.
template <class M>
struct LDL {
  Tensor<M> l, d, permutation;  ///< the factor in the order of a's rows, the blocks, and that order, in i64
};
/// The factors of a Hermitian matrix (or with `hermitian` false of a symmetric one, a = l d l^T) that need not be
/// definite, by the pivots of Bunch and Kaufman on Eigen's matrices. The lower triangle is read. No gradient.
template <class M>
LDL<M> ldl(const Tensor<M>& a, Flag hermitian = true);

// Pairs of matrices.

/// a = u c x and b = v s x: u and v unitary, c and s zero off one diagonal, where c^2 + s^2 = 1, c descending.
template <class M>
struct GSVD {
  Tensor<M> u, v, c, s, x;  ///< the unitary factors, cosines, sines, and what both share
};
/// The generalised singular values of a and b, which have as many columns as x has rows; together at least as many
/// rows.
template <class M>
GSVD<M> gsvd(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The ratios of cosines and sines, descending; infinite where b maps a direction to zero.
template <class M>
Tensor<M> gsvdvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);

/// a v = b v diag(w), complex, for a matrix b that has an inverse; qzvals() takes others. Vectors have length one.
template <class M>
Eig<M> eig(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The eigenvalues alone.
template <class M>
Tensor<M> eigvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// a v = b v diag(w) for a Hermitian and b positive definite, of which the lower triangles are read; w ascending,
/// v^H b v = 1.
template <class M>
Eigh<M> eigh(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The eigenvalues alone.
template <class M>
Tensor<M> eigvalsh(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);

/// Orthonormal columns that a maps to zero; singular values up to `rtol` times the largest count as zero. Their number
/// depends on the elements, which are read: no place in compiled functions. All matrices of a stack need one rank.
template <class M>
Tensor<M> null_space(const Tensor<M>& a, std::optional<double> rtol = {});

// Functions of matrices.

/// The principal square root, by Eigen. A real matrix with a negative eigenvalue has no real one: cast it to complex.
template <class M>
Tensor<M> sqrtm(const Tensor<M>& a);
/// The principal logarithm, by Eigen. A real matrix with a negative eigenvalue has no real one: cast it to complex.
template <class M>
Tensor<M> logm(const Tensor<M>& a);
/// v diag(f(w)) v^-1 for the eigenvalues w and vectors v, complex: f takes and yields a tensor, element by element. A
/// matrix that is not diagonalisable has none.
///
///     const Tensor y = linalg::funm(x, [](const Tensor& w) { return 1 / (1 + w * w); });
template <class M>
Tensor<M> funm(const Tensor<M>& a, const std::type_identity_t<std::function<Tensor<M>(const Tensor<M>&)>>& f);
/// The sine of a matrix.
template <class M>
Tensor<M> sinm(const Tensor<M>& a);
/// The cosine of a matrix.
template <class M>
Tensor<M> cosm(const Tensor<M>& a);
/// The tangent of a matrix, whose cosine must have an inverse.
template <class M>
Tensor<M> tanm(const Tensor<M>& a);
/// The hyperbolic sine of a matrix.
template <class M>
Tensor<M> sinhm(const Tensor<M>& a);
/// The hyperbolic cosine of a matrix.
template <class M>
Tensor<M> coshm(const Tensor<M>& a);
/// The hyperbolic tangent of a matrix, whose hyperbolic cosine must have an inverse and be finite: eigenvalues below 88
/// in f32, 709 in f64.
template <class M>
Tensor<M> tanhm(const Tensor<M>& a);

// Matrix equations.

/// x with a x + x b = c, by Eigen; there is one where no eigenvalue of a is the negative of one of b.
template <class M>
Tensor<M> sylvester(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                    const std::type_identity_t<Tensor<M>>& c);
/// x with a x + x a^H = q, by Eigen.
template <class M>
Tensor<M> lyapunov(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& q);
/// x with a x a^H - x + q = 0, by Eigen; there is one where no eigenvalue of a is the reciprocal of another's
/// conjugate.
template <class M>
Tensor<M> discrete_lyapunov(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& q);
/// The stabilising x with a^H x + x a - x b r^-1 b^H x + q = 0, by Eigen; of q and r the Hermitian parts count. It has
/// gradients of the first three orders.
template <class M>
Tensor<M> care(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const std::type_identity_t<Tensor<M>>& q,
               const std::type_identity_t<Tensor<M>>& r);
/// The stabilising x with a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0, by Eigen; as care,
/// and r must have an inverse.
template <class M>
Tensor<M> dare(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const std::type_identity_t<Tensor<M>>& q,
               const std::type_identity_t<Tensor<M>>& r);

}  // namespace TYTO_API
}  // namespace tyto
