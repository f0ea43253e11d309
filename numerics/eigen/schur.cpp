// SPDX-License-Identifier: MIT
// Schur and Hessenberg forms of one matrix, and Schur forms put in another order.
#ifdef TYTO_HAVE_EIGEN

#include "numerics/eigen/blocks.hpp"
#include "numerics/eigen/matrices.hpp"

namespace tyto::eigen_kernels {

namespace {

bool schur_real(std::span<const Matrix<const double>> in, std::span<const Matrix<double>> out) {
  const Dense<double> a = view(in[0]);
  if (!a.allFinite()) return false;
  const double scale = scale_of(a);
  const Eigen::RealSchur<Dense<double>> found(a * scale);
  if (found.info() != Eigen::Success) return false;
  Dense<double> t = found.matrixT(), z = found.matrixU();
  for (Index k = 0; k < t.rows(); k += block_size(t, k)) {
    if (block_size(t, k) == 2) level_block(t, z, k);
  }
  view(out[0]) = t / scale;
  view(out[1]) = z;
  return true;
}

bool schur_complex(std::span<const Matrix<const Complex>> in, std::span<const Matrix<Complex>> out) {
  const Dense<Complex> a = view(in[0]);
  if (!a.allFinite()) return false;
  const ComplexSchur found(a);
  if (!found.converged) return false;
  view(out[0]) = found.t;
  view(out[1]) = found.u;
  return true;
}

template <class T>
bool hess_of(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  const Dense<T> a = view(in[0]);
  if (!a.allFinite()) return false;
  const double scale = scale_of(a);
  const Eigen::HessenbergDecomposition<Dense<T>> found(a * scale);
  view(out[0]) = found.matrixH() / scale;
  view(out[1]) = found.matrixQ();
  return true;
}

/// Exchanges the diagonal blocks of p and q rows at k of t = z^H a z. Bai and Demmel, "On swapping diagonal blocks in
/// real Schur form" (1993): (-x; 1) spans what belongs to the second, where t11 x - x t22 = t12.
template <class T>
void exchange(Dense<T>& t, Dense<T>& z, Index k, Index p, Index q) {
  const Index n = t.rows(), size = p + q;
  Dense<T> basis(size, q);
  if (size == 2) {  // without a division: it holds for eigenvalues that are nearly equal too
    basis << t(k, k + 1), t(k + 1, k + 1) - t(k, k);
    if (basis.norm() == 0) return;
  } else {
    Dense<T> equations = Dense<T>::Zero(p * q, p * q);
    Eigen::Matrix<T, Eigen::Dynamic, 1> right(p * q);
    for (Index j = 0; j < q; ++j) {
      equations.block(j * p, j * p, p, p) += t.block(k, k, p, p);
      for (Index i = 0; i < q; ++i) {
        equations.block(j * p, i * p, p, p) -= t(k + p + i, k + p + j) * Dense<T>::Identity(p, p);
      }
      right.segment(j * p, p) = t.block(k, k + p + j, p, 1);
    }
    const Eigen::FullPivLU<Dense<T>> solver(equations);
    if (!solver.isInvertible()) return;  // the same eigenvalues: there is nothing to exchange
    const Eigen::Matrix<T, Eigen::Dynamic, 1> x = solver.solve(right);
    basis.topRows(p) = -Eigen::Map<const Dense<T>>(x.data(), p, q);
    basis.bottomRows(q).setIdentity();
  }
  const Dense<T> turn = full_basis(basis);
  t.middleRows(k, size) = (turn.adjoint() * t.middleRows(k, size)).eval();
  t.middleCols(k, size) = (t.middleCols(k, size) * turn).eval();
  z.middleCols(k, size) = (z.middleCols(k, size) * turn).eval();
  t.block(k + q, k, p, q).setZero();
  t.middleRows(k, size).leftCols(k).setZero();
  t.bottomRows(n - k - size).middleCols(k, size).setZero();
  if constexpr (std::is_same_v<T, double>) {
    if (q == 2) level_block(t, z, k);
    if (p == 2) level_block(t, z, k + q);
  }
}

template <class T>
bool ordschur_of(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  Dense<T> t = view(in[1]), z = view(in[2]);
  if (!t.allFinite() || !z.allFinite()) return false;
  const double scale = scale_of(t);
  t *= scale;
  move_selected(t, view(in[0]), [&](Index k, Index p, Index q) { exchange(t, z, k, p, q); });
  view(out[0]) = t * (1 / scale);
  view(out[1]) = z;
  return true;
}

}  // namespace

Kernels schur() { return {schur_real, schur_complex}; }
Kernels hess() { return {hess_of<double>, hess_of<Complex>}; }
Kernels ordschur() { return {ordschur_of<double>, ordschur_of<Complex>}; }

}  // namespace tyto::eigen_kernels

#endif
