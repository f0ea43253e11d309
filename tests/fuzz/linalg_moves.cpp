// SPDX-License-Identifier: MIT
// Moves through linear algebra, on matrices that are far from singular: what eager mode refuses, a graph makes NaN.
#include <algorithm>

#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

/// Numbers within (-1, 1), whatever was drawn.
template <class M>
Tensor<M> bounded(Drawing<M>& d, const Shape& shape, DType dtype) {
  const Tensor<M> x = d.shaped(shape, dtype);
  return where(isfinite(x), softsign(x), 0);
}

/// Square matrices, or a stack of them, whose diagonal outweighs the rest.
template <class M>
Tensor<M> regular(Drawing<M>& d, std::int64_t size, DType dtype) {
  const Shape shape = d.dice().one_in(3) ? Shape{2, size, size} : Shape{size, size};
  return bounded(d, shape, dtype) + (static_cast<double>(size) + 0.5) * Tensor<M>::eye(size, size, 0, dtype);
}

template <class M>
Tensor<M> symmetric(const Tensor<M>& x) {
  return x + matrix_transpose(x);
}

/// Matrices whose eigenvalues and singular values lie apart: the gradient of a vector divides by their differences, so
/// that rounding decides where two are equal. The diagonal rises by more than the rest of two rows can make up for.
template <class M>
Tensor<M> graded(Drawing<M>& d, const Shape& shape, DType dtype) {
  const std::int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const Tensor<M> step = static_cast<double>(2 * std::max(rows, columns) + 1) *
                         Tensor<M>::arange(1, static_cast<double>(rows + 1), 1, dtype);
  return bounded(d, shape, dtype) + expand_dims(step, -1) * Tensor<M>::eye(rows, columns, 0, dtype);
}

template <class M>
Tensor<M> factorise(Drawing<M>& d) {
  const std::int64_t size = d.dice().between(1, 6);
  const DType dtype = d.dice().of({DType::f32, DType::f64});
  switch (d.dice().below(7)) {
    case 0: return linalg::cholesky(symmetric(regular(d, size, dtype)), d.dice().one_in(2));
    case 1: return abs(linalg::qr(graded(d, {size + 1, size}, dtype)).r);  // its gradient divides by the diagonal
    case 2: return linalg::eigvalsh(symmetric(graded(d, {size, size}, dtype)));
    case 3: return linalg::svdvals(graded(d, {size, 3}, dtype));
    case 4: return linalg::det(regular(d, size, dtype));
    case 5: {
      // Vectors may have either sign, and any direction where values are equal; a function of the matrix has neither.
      const linalg::Eigh<M> e = linalg::eigh(symmetric(graded(d, {size, size}, dtype)));
      return matmul(e.vectors * e.values(ellipsis, newaxis, all), matrix_transpose(e.vectors));
    }
    default: {
      const linalg::SVD<M> f = linalg::svd(graded(d, {size, size}, dtype), linalg::Columns::reduced);
      return matmul(f.u * f.s(ellipsis, newaxis, all), f.vh);
    }
  }
}

template <class M>
Tensor<M> solve_systems(Drawing<M>& d) {
  const std::int64_t size = d.dice().between(1, 6);
  const DType dtype = d.dice().of({DType::f32, DType::f64});
  const Tensor<M> a = regular(d, size, dtype), b = bounded(d, {size, d.dice().between(1, 3)}, dtype);
  switch (d.dice().below(6)) {
    case 0: return linalg::solve(a, b);
    case 1: return linalg::inv(a);
    case 2: return linalg::triangular_solve(tril(a), b, {});
    case 3: return linalg::lu_solve(linalg::lu_factor(a), b, d.dice().one_in(2));
    case 4: return linalg::pinv(a);
    default: return linalg::expm(bounded(d, {size, size}, dtype));
  }
}

}  // namespace

TYTO_FUZZ_MOVES(linalg_moves, {"factorise", 3, factorise<M>}, {"solve_systems", 3, solve_systems<M>})

}  // namespace tyto::fuzz
