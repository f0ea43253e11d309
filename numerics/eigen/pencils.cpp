// SPDX-License-Identifier: MIT
// Generalised Schur forms of pairs of matrices (QZ), and those put in another order.
#ifdef TYTO_HAVE_EIGEN

#include <algorithm>
#include <cmath>

#include "numerics/eigen/blocks.hpp"
#include "numerics/eigen/matrices.hpp"

namespace tyto::eigen_kernels {

namespace {

/// A pair s = q^H a z, t = q^H b z under way, and the rotations that keep it one.
struct Pencil {
  Dense<Complex> s, t, q, z;

  /// Turns rows i and i + 1 so that m(i + 1, column) becomes zero, m being s or t.
  void clear_below(Dense<Complex>& m, Index i, Index column) {
    turn_rows(i, m(i, column), m(i + 1, column));
    m(i + 1, column) = 0;
  }
  /// Turns rows so that (x, y) would become (r, 0).
  void turn_rows(Index i, Complex x, Complex y) {
    const double length = std::hypot(std::abs(x), std::abs(y));
    if (length == 0 || y == 0.0) return;
    Eigen::Matrix2cd turn;
    turn << std::conj(x), std::conj(y), -y, x;
    turn /= length;
    s.middleRows<2>(i) = (turn * s.middleRows<2>(i)).eval();
    t.middleRows<2>(i) = (turn * t.middleRows<2>(i)).eval();
    q.middleCols<2>(i) = (q.middleCols<2>(i) * turn.adjoint()).eval();
  }
  /// Turns columns j - 1 and j so that m(row, j - 1) becomes zero.
  void clear_left(Dense<Complex>& m, Index row, Index j) {
    const Complex u = m(row, j - 1), v = m(row, j);
    const double length = std::hypot(std::abs(u), std::abs(v));
    if (length == 0 || u == 0.0) return;
    Eigen::Matrix2cd turn;
    turn << v, std::conj(u), -u, std::conj(v);
    turn /= length;
    for (Dense<Complex>* const each : {&s, &t, &z}) {
      each->middleCols<2>(j - 1) = (each->middleCols<2>(j - 1) * turn).eval();
    }
    m(row, j - 1) = 0;
  }
};

/// s becomes an upper Hessenberg matrix and t an upper triangle.
void reduce(Pencil& p) {
  const Index n = p.s.rows();
  const Eigen::HouseholderQR<Dense<Complex>> factors(p.t);
  p.q = factors.householderQ();
  p.s = (p.q.adjoint() * p.s).eval();
  p.t = Dense<Complex>(factors.matrixQR().triangularView<Eigen::Upper>());
  for (Index column = 0; column + 2 < n; ++column) {
    for (Index row = n - 2; row > column; --row) {
      p.clear_below(p.s, row, column);
      p.clear_left(p.t, row + 1, row + 1);
    }
  }
}

/// One step with a single shift on rows first to last, where t has no zero on its diagonal.
void step(Pencil& p, Index first, Index last, bool exceptional) {
  Dense<Complex>&s = p.s, &t = p.t;
  const Index i = last - 1;
  Complex shift = s(last, last) / t(last, last);
  if (exceptional) {
    shift += s(last, i) / t(i, i);
  } else {
    // The eigenvalue of the last two rows of s t^-1 that is nearer to their last element.
    const Complex ratio = t(i, last) / t(last, last);
    const Complex a11 = s(i, i) / t(i, i), a21 = s(last, i) / t(i, i);
    const Complex a12 = s(i, last) / t(last, last) - ratio * a11;
    const Complex a22 = s(last, last) / t(last, last) - ratio * a21;
    const Complex half = (a11 - a22) / 2.0, root = std::sqrt(half * half + a12 * a21);
    const Complex sum = std::abs(half + root) >= std::abs(half - root) ? half + root : half - root;
    shift = sum == 0.0 ? a22 : a22 - a12 * a21 / sum;
  }
  p.turn_rows(first, s(first, first) - shift * t(first, first), s(first + 1, first));
  for (Index k = first; k < last; ++k) {
    if (k > first) p.clear_below(s, k, k - 1);
    p.clear_left(t, k + 1, k + 1);
  }
}

/// The complex QZ iteration of Moler and Stewart (Golub and Van Loan, 7.7), zeros on t's diagonal pushed down.
bool iterate(Pencil& p) {
  Dense<Complex>&s = p.s, &t = p.t;
  const Index n = s.rows();
  const double s_small = epsilon * s.norm(), t_small = epsilon * t.norm();
  Index last = n - 1;
  for (Index count = 0; last > 0; ++count) {
    if (count > 60) return false;
    Index first = last;
    for (; first > 0; --first) {
      const double beside = std::abs(s(first, first)) + std::abs(s(first - 1, first - 1));
      if (std::abs(s(first, first - 1)) <= std::max(epsilon * beside, std::numeric_limits<double>::min()) ||
          std::abs(s(first, first - 1)) <= s_small * epsilon) {
        s(first, first - 1) = 0;
        break;
      }
    }
    if (first == last) {
      --last;
      count = -1;
      continue;
    }
    Index zero = last;
    while (zero >= first && std::abs(t(zero, zero)) > t_small) --zero;
    if (zero < first) {
      step(p, first, last, count % 10 == 9);
      continue;
    }
    t(zero, zero) = 0;
    for (Index k = zero; k < last; ++k) {
      p.clear_below(t, k, k + 1);
      if (k > first) p.clear_left(s, k + 1, k);
    }
    p.clear_left(s, last, last);
    --last;
    count = -1;
  }
  return true;
}

bool qz_complex(std::span<const Matrix<const Complex>> in, std::span<const Matrix<Complex>> out) {
  const Dense<Complex> a = view(in[0]), b = view(in[1]);
  if (!a.allFinite() || !b.allFinite()) return false;
  const Index n = a.rows();
  const double a_scale = scale_of(a), b_scale = scale_of(b);
  Pencil p{a * a_scale, b * b_scale, Dense<Complex>::Identity(n, n), Dense<Complex>::Identity(n, n)};
  reduce(p);
  if (!iterate(p)) return false;
  view(out[0]) = Dense<Complex>(p.s.triangularView<Eigen::Upper>()) / a_scale;
  view(out[1]) = Dense<Complex>(p.t.triangularView<Eigen::Upper>()) / b_scale;
  view(out[2]) = p.q;
  view(out[3]) = p.z;
  return true;
}

bool qz_real(std::span<const Matrix<const double>> in, std::span<const Matrix<double>> out) {
  Dense<double> a = view(in[0]), b = view(in[1]);
  if (!a.allFinite() || !b.allFinite()) return false;
  const Index n = a.rows();
  if (n == 1 || (a.array() == 0).all()) {  // Eigen's iteration takes neither
    const Eigen::HouseholderQR<Dense<double>> factors(b);
    view(out[2]) = Dense<double>(factors.householderQ());
    view(out[0]) = view(out[2]).transpose() * a;
    view(out[1]) = Dense<double>(factors.matrixQR().triangularView<Eigen::Upper>());
    view(out[3]).setIdentity();
    return true;
  }
  // Eigen moves a zero of t to the end without counting, and again and again where an epsilon of its neighbours in s is
  // 0: elements are so large that it is not, and their cubes are finite.
  const double a_scale = scale_of(a), b_scale = scale_of(b), large = std::ldexp(1.0, 300);
  a = (a * a_scale * large).eval();
  b = (b * b_scale * large).eval();
  Eigen::RealQZ<Dense<double>> found(n);
  found.setMaxIterations(60 * n);
  found.compute(a, b);
  if (found.info() != Eigen::Success) return false;
  view(out[0]) = found.matrixS() / large / a_scale;
  view(out[1]) = Dense<double>(found.matrixT().triangularView<Eigen::Upper>()) / large / b_scale;
  view(out[2]) = found.matrixQ();
  view(out[3]) = found.matrixZ().transpose();
  return view(out[0]).allFinite() && view(out[1]).allFinite();
}

/// Exchanges the blocks of p and q rows at k: (-r; 1) and (-l; 1) span what belongs to the second on the right and on
/// the left, where s11 r - l s22 = s12 and t11 r - l t22 = t12.
template <class T>
void exchange(Dense<T>& s, Dense<T>& t, Dense<T>& left, Dense<T>& right, Index k, Index p, Index q) {
  const Index size = p + q, count = p * q;
  Dense<T> on_right(size, q), on_left(size, q);
  if (size == 2) {  // without a division, as in ordschur
    const T x = s(k, k) * t(k + 1, k + 1) - s(k + 1, k + 1) * t(k, k);
    const T y = s(k + 1, k + 1) * t(k, k + 1) - s(k, k + 1) * t(k + 1, k + 1);
    on_right << y, x;
    if (on_right.norm() == 0) return;
    const Dense<T> by_s = s.block(k, k, 2, 2) * on_right, by_t = t.block(k, k, 2, 2) * on_right;
    on_left = by_s.norm() * t.norm() >= by_t.norm() * s.norm() ? by_s : by_t;
    if (on_left.norm() == 0) return;
  } else {
    Dense<T> equations = Dense<T>::Zero(2 * count, 2 * count);
    Eigen::Matrix<T, Eigen::Dynamic, 1> known(2 * count);
    for (Index half = 0; half < 2; ++half) {
      const Dense<T>& m = half == 0 ? s : t;
      for (Index j = 0; j < q; ++j) {
        equations.block(half * count + j * p, j * p, p, p) = m.block(k, k, p, p);
        for (Index i = 0; i < q; ++i) {
          equations.block(half * count + j * p, count + i * p, p, p) -=
              m(k + p + i, k + p + j) * Dense<T>::Identity(p, p);
        }
        known.segment(half * count + j * p, p) = m.block(k, k + p + j, p, 1);
      }
    }
    const Eigen::FullPivLU<Dense<T>> solver(equations);
    if (!solver.isInvertible()) return;  // the same eigenvalues
    const Eigen::Matrix<T, Eigen::Dynamic, 1> x = solver.solve(known);
    on_right.topRows(p) = -Eigen::Map<const Dense<T>>(x.data(), p, q);
    on_left.topRows(p) = -Eigen::Map<const Dense<T>>(x.data() + count, p, q);
    on_right.bottomRows(q).setIdentity();
    on_left.bottomRows(q).setIdentity();
  }
  const auto turn_left = [&](Index at, const Dense<T>& turn) {
    const Index rows = turn.rows();
    for (Dense<T>* const each : {&s, &t})
      each->middleRows(at, rows) = (turn.adjoint() * each->middleRows(at, rows)).eval();
    left.middleCols(at, rows) = (left.middleCols(at, rows) * turn).eval();
  };
  const auto turn_right = [&](Index at, const Dense<T>& turn) {
    const Index rows = turn.rows();
    for (Dense<T>* const each : {&s, &t, &right}) {
      each->middleCols(at, rows) = (each->middleCols(at, rows) * turn).eval();
    }
  };
  turn_right(k, full_basis(on_right));
  turn_left(k, full_basis(on_left));
  for (Dense<T>* const each : {&s, &t}) each->block(k + q, k, p, q).setZero();
  // Blocks of two rows are triangles in t.
  for (const auto& [at, rows] : {std::pair{k, q}, std::pair{k + q, p}}) {
    if (rows != 2) continue;
    turn_left(at, full_basis(Dense<T>(t.block(at, at, 2, 2))));
    t(at + 1, at) = 0;
  }
}

template <class T>
bool ordqz_of(std::span<const Matrix<const T>> in, std::span<const Matrix<T>> out) {
  Dense<T> s = view(in[1]), t = view(in[2]), q = view(in[3]), z = view(in[4]);
  if (!s.allFinite() || !t.allFinite() || !q.allFinite() || !z.allFinite()) return false;
  const double s_scale = scale_of(s), t_scale = scale_of(t);
  s *= s_scale;
  t *= t_scale;
  move_selected(s, view(in[0]), [&](Index k, Index p, Index r) { exchange(s, t, q, z, k, p, r); });
  view(out[0]) = s * (1 / s_scale);
  view(out[1]) = t * (1 / t_scale);
  view(out[2]) = q;
  view(out[3]) = z;
  return true;
}

}  // namespace

Kernels qz() { return {qz_real, qz_complex}; }
Kernels ordqz() { return {ordqz_of<double>, ordqz_of<Complex>}; }

}  // namespace tyto::eigen_kernels

#endif
