// SPDX-License-Identifier: MIT
// Linear matrix equations, square roots and logarithms, by complex Schur forms; real matrices have real results.
#ifdef TYTO_HAVE_EIGEN

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/eigen/matrices.hpp"

namespace tyto::eigen_kernels {

namespace {

using ComplexMatrix = Dense<Complex>;

template <class T>
void put(const ComplexMatrix& from, const Matrix<T>& to) {
  if constexpr (std::is_same_v<T, double>) {
    view(to) = from.real();
  } else {
    view(to) = from;
  }
}

/// x with a x + x b = c, or with x - a x b = c, column by column of the triangles (Bartels and Stewart 1972).
template <class T, bool discrete>
bool solve_equation(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  const ComplexMatrix left = view(in[0]).template cast<Complex>(), right = view(in[1]).template cast<Complex>();
  const ComplexMatrix known = view(in[2]).template cast<Complex>();
  if (!left.allFinite() || !right.allFinite() || !known.allFinite()) return false;
  // Both sides of the first equation times a power of two, and the right-hand side, in which x is linear, by its own.
  const double scale = discrete ? 1 : std::min(scale_of(left), scale_of(right)), known_scale = scale_of(known);
  const ComplexSchur a(left * scale), b(right * scale);
  if (!a.converged || !b.converged) return false;
  const Index m = left.rows(), n = right.rows();
  const double a_norm = a.t.stableNorm(), b_norm = b.t.stableNorm();
  const double largest = (discrete ? 1 + a_norm * b_norm : a_norm + b_norm) * static_cast<double>(m + n);
  ComplexMatrix y = a.u.adjoint() * (known * known_scale) * b.u;
  ComplexMatrix triangle(m, m);
  for (Index j = 0; j < n; ++j) {
    const Eigen::VectorXcd before = y.leftCols(j) * b.t.col(j).head(j);
    if constexpr (discrete) {
      triangle = -b.t(j, j) * a.t;
      triangle.diagonal().array() += 1.0;
      y.col(j) += a.t * before;
    } else {
      triangle = a.t;
      triangle.diagonal().array() += b.t(j, j);
      y.col(j) -= before;
    }
    // Eigenvalues that cancel, but for rounding errors: the equation has no solution, or many.
    if (triangle.diagonal().cwiseAbs().minCoeff() <= epsilon * largest) return false;
    triangle.triangularView<Eigen::Upper>().solveInPlace(y.col(j));
  }
  put<T>(times_power<Complex>(a.u * y * b.u.adjoint(), std::ilogb(scale) - std::ilogb(known_scale)), out[0]);
  return view(out[0]).allFinite();
}

/// The principal square root of an upper triangle (Björck and Hammarling 1983).
bool root_of_triangle(const ComplexMatrix& t, ComplexMatrix& r) {
  const Index n = t.rows();
  r = ComplexMatrix::Zero(n, n);
  for (Index j = 0; j < n; ++j) {
    r(j, j) = std::sqrt(t(j, j));
    for (Index i = j - 1; i >= 0; --i) {
      Complex rest = t(i, j);
      for (Index k = i + 1; k < j; ++k) rest -= r(i, k) * r(k, j);
      const Complex sum = r(i, i) + r(j, j);
      if (sum != 0.0) {
        r(i, j) = rest / sum;
      } else if (rest != 0.0) {
        return false;  // a nilpotent block has no root
      }
    }
  }
  return r.allFinite();
}

/// Whether the principal function of a real matrix is real: no eigenvalue is negative, but by rounding errors.
bool has_real_result(const Dense<double>& a) {
  const Eigen::RealSchur<Dense<double>> found(a, false);
  if (found.info() != Eigen::Success) return false;
  const Dense<double>& t = found.matrixT();
  const double small = -static_cast<double>(t.rows()) * epsilon * t.stableNorm();
  for (Index k = 0; k < t.rows(); ++k) {
    if (k + 1 < t.rows() && t(k + 1, k) != 0) {
      ++k;
    } else if (t(k, k) < small) {
      return false;
    }
  }
  return true;
}

template <class T>
bool begin(const Matrix<const T>& a, ComplexMatrix& wide) {
  if (!view(a).allFinite()) return false;
  if constexpr (std::is_same_v<T, double>) {
    if (!has_real_result(view(a))) return false;
  }
  wide = view(a).template cast<Complex>();
  return true;
}

template <class T>
bool root_of(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  ComplexMatrix a, root;
  if (!begin<T>(in[0], a)) return false;
  const ComplexSchur form(a);
  if (!form.converged || !root_of_triangle(form.t, root)) return false;
  put<T>(form.u * root * form.u.adjoint(), out[0]);
  return view(out[0]).allFinite();
}

/// Roots until the matrix is near one, then Gauss' quadrature of x (1 + s x)^-1 over s from 0 to 1, which is the Padé
/// approximant of log(1 + x): Higham, "Functions of Matrices" (2008), 11.4.
template <class T>
bool logarithm_of(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  ComplexMatrix a, root;
  if (!begin<T>(in[0], a)) return false;
  const ComplexSchur form(a);
  if (!form.converged || (form.t.diagonal().array() == 0.0).any()) return false;
  const Index n = a.rows();
  const ComplexMatrix one = ComplexMatrix::Identity(n, n);
  ComplexMatrix t = form.t;
  int roots = 0;
  constexpr double near_one = 0.26;  // where seven points are exact to rounding
  while ((t - one).cwiseAbs().colwise().sum().maxCoeff() > near_one) {
    if (++roots > 1100 || !root_of_triangle(t, root)) return false;
    t = root;
  }
  static constexpr std::array<double, 4> points = {0, 0.4058451513773971669, 0.7415311855993944399,
                                                   0.9491079123427585245};
  static constexpr std::array<double, 4> weights = {0.4179591836734693878, 0.3818300505051189449, 0.2797053914892766679,
                                                    0.1294849661688696933};
  const ComplexMatrix x = t - one;
  ComplexMatrix logarithm = ComplexMatrix::Zero(n, n);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const double sign : {-1.0, 1.0}) {
      if (points[i] == 0 && sign < 0) continue;
      const ComplexMatrix denominator = one + (1 + sign * points[i]) / 2 * x;
      logarithm += weights[i] / 2 * denominator.triangularView<Eigen::Upper>().solve(x);
    }
  }
  logarithm *= std::ldexp(1.0, roots);
  logarithm.diagonal() = form.t.diagonal().array().log();
  put<T>(form.u * logarithm * form.u.adjoint(), out[0]);
  return view(out[0]).allFinite();
}

}  // namespace

Kernels sqrtm() { return {root_of<double>, root_of<Complex>}; }
Kernels logm() { return {logarithm_of<double>, logarithm_of<Complex>}; }
Kernels sylvester() { return {solve_equation<double, false>, solve_equation<Complex, false>}; }
Kernels stein() { return {solve_equation<double, true>, solve_equation<Complex, true>}; }

}  // namespace tyto::eigen_kernels

#endif
