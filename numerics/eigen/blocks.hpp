// SPDX-License-Identifier: MIT
// Diagonal blocks of triangular forms: one row each, or two where a real matrix has a pair of complex eigenvalues.
#pragma once

#include <cmath>
#include <vector>

#include "numerics/eigen/matrices.hpp"

namespace tyto::eigen_kernels {

template <class T>
Index block_size(const Dense<T>& t, Index k) {
  return k + 1 < t.rows() && t(k + 1, k) != T(0) ? 2 : 1;
}

/// Makes both elements on the diagonal of a block of two rows equal, as LAPACK does: they are the eigenvalues' real
/// parts. A block whose eigenvalues are real becomes two of one row.
inline void level_block(Dense<double>& t, Dense<double>& z, Index k) {
  const double a = t(k, k), b = t(k, k + 1), c = t(k + 1, k), d = t(k + 1, k + 1);
  const double half = (a - d) / 2, discriminant = half * half + b * c;
  double angle = 0.5 * std::atan2(a - d, b + c);
  if (discriminant >= 0) {  // the first column becomes an eigenvector
    const double root = half >= 0 ? half + std::sqrt(discriminant) : half - std::sqrt(discriminant);
    angle = -std::atan2(c, root);
  }
  const double cosine = std::cos(angle), sine = std::sin(angle);
  Eigen::Matrix2d turn;
  turn << cosine, sine, -sine, cosine;
  t.middleRows<2>(k) = (turn.transpose() * t.middleRows<2>(k)).eval();
  t.middleCols<2>(k) = (t.middleCols<2>(k) * turn).eval();
  z.middleCols<2>(k) = (z.middleCols<2>(k) * turn).eval();
  if (discriminant >= 0) {
    t(k + 1, k) = 0;
  } else {
    t(k, k) = t(k + 1, k + 1) = (t(k, k) + t(k + 1, k + 1)) / 2;
  }
}

/// A unitary matrix whose first columns span those of `basis`.
template <class T>
Dense<T> full_basis(const Dense<T>& basis) {
  const Eigen::HouseholderQR<Dense<T>> factors(basis);
  return Dense<T>(factors.householderQ());
}

/// Brings the blocks of t of which `select` holds (a pair belongs together: either row selects it) to the front, in
/// their order, by exchange(k, p, q) of neighbours of p and q rows at row k.
template <class T, class Select, class Exchange>
void move_selected(const Dense<T>& t, const Select& select, const Exchange& exchange) {
  struct Block {
    Index size;
    bool selected;
  };
  std::vector<Block> blocks;
  for (Index k = 0; k < t.rows();) {
    const Index size = block_size(t, k);
    blocks.push_back({size, select(0, k) != T(0) || (size == 2 && select(0, k + 1) != T(0))});
    k += size;
  }
  for (std::size_t i = 0, done = 0; i < blocks.size(); ++i) {
    if (!blocks[i].selected) continue;
    Index row = 0;
    for (std::size_t j = 0; j < i; ++j) row += blocks[j].size;
    for (std::size_t j = i; j > done; --j) {
      row -= blocks[j - 1].size;
      exchange(row, blocks[j - 1].size, blocks[j].size);
      std::swap(blocks[j - 1], blocks[j]);
    }
    ++done;
  }
}

}  // namespace tyto::eigen_kernels
