// SPDX-License-Identifier: MIT
// Linear algebra on matrices and stacks of them, as numpy.linalg: systems of equations, factorisations, spectra, norms.
//
// A matrix is the last two axes of a tensor; the axes before them are a stack, and stacks broadcast. Matrices are
// factorised in f32 and f64 and in complex numbers of these: integers become f32, f16 and bf16 are refused. Gradients
// of complex matrices are PyTorch's, of objectives to which phases of vectors do not matter. In eager mode a matrix
// that is singular, or not positive definite, is a ValueError; in a graph its results are NaN, and the functions called
// ..._ex tell which matrices those are.
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "tyto/products.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace linalg TYTO_API {

using tyto::kron;
using tyto::matmul;
using tyto::matrix_transpose;
using tyto::outer;
using tyto::tensordot;

// Systems of equations.

/// x with a x = b; a right-hand side of one axis is a vector, any other a stack of matrices.
template <class M>
Tensor<M> solve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// The inverse. To solve a system, `solve` is faster and loses fewer digits.
template <class M>
Tensor<M> inv(const Tensor<M>& a);
/// x with tensordot(a, x, x.ndim()) = b: a system of equations whose unknowns have several axes, the last ones of a
/// (or those that are named, moved there).
template <class M>
Tensor<M> tensorsolve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const IntList& axes = {});
/// The inverse of tensordot with a: its first `axes` axes and the others have as many elements.
template <class M>
Tensor<M> tensorinv(const Tensor<M>& a, std::int64_t axes = 2);
/// The determinant; its gradient holds for singular matrices too.
template <class M>
Tensor<M> det(const Tensor<M>& a);

/// The determinant as sign and logarithm of its size; 0 and -infinity for a singular matrix.
template <class M>
struct SignLogDet {
  Tensor<M> sign, logabsdet;  ///< of the determinant, and the logarithm of its size
};
template <class M>
SignLogDet<M> slogdet(const Tensor<M>& a);

/// x with t x = b for the lower triangle of t, or the upper; with `unit`, ones count as its diagonal. A zero there
/// gives infinities or NaN.
struct TriangularOptions {
  bool upper = false;  ///< whether t is an upper triangle
  bool unit = false;   ///< whether ones are on the diagonal, which is not read
};
template <class M>
Tensor<M> triangular_solve(const Tensor<M>& t, const std::type_identity_t<Tensor<M>>& b,
                           const TriangularOptions& options = {});

/// A result, and for each matrix 0 where all is well: else which pivot, from one, was zero or not positive; there the
/// result is NaN. The functions that return it never throw for what a matrix holds.
template <class M>
struct Checked {
  Tensor<M> value, info;  ///< the result, and 0 or the pivot that was wrong
};
template <class M>
Checked<M> solve_ex(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
template <class M>
Checked<M> inv_ex(const Tensor<M>& a);
template <class M>
Checked<M> cholesky_ex(const Tensor<M>& a, Flag upper = false);

// Factorisations.

/// a = p l u by partial pivoting: p a permutation, l with ones on its diagonal.
template <class M>
struct LU {
  Tensor<M> p, l, u;  ///< permutation, lower and upper triangle
};
template <class M>
LU<M> lu(const Tensor<M>& a);

/// l and u in one matrix; step i exchanged rows i and pivots[i]; row i of l u is row permutation[i] of a.
template <class M>
struct LUFactor {
  Tensor<M> lu, pivots, permutation;  ///< both triangles, and how rows were exchanged
};
template <class M>
LUFactor<M> lu_factor(const Tensor<M>& a);
/// x with a x = b, or with a's transpose in its place, for a factorised a; NaN where the permutation is none.
template <class M>
Tensor<M> lu_solve(const LUFactor<M>& factor, const std::type_identity_t<Tensor<M>>& b, Flag transposed = false);

/// l with a = l l^T, of which the lower triangle is read; or its transpose, from the upper one.
template <class M>
Tensor<M> cholesky(const Tensor<M>& a, Flag upper = false);
/// x with a x = b, for a's factor by `cholesky`.
template <class M>
Tensor<M> cholesky_solve(const Tensor<M>& factor, const std::type_identity_t<Tensor<M>>& b, Flag upper = false);

/// reduced: q has as many columns as the shorter side of a; complete: it is square.
enum class Columns { reduced, complete };

/// a = q r, q with orthonormal columns, r upper triangular. A complete q with more rows than a has columns has no
/// gradient.
template <class M>
struct QR {
  Tensor<M> q, r;  ///< orthonormal columns, and the upper triangle
};
template <class M>
QR<M> qr(const Tensor<M>& a, Columns columns = Columns::reduced);

/// a = u diag(s) vh with s descending and not negative. Complete factors have a gradient by s alone.
template <class M>
struct SVD {
  Tensor<M> u, s, vh;  ///< left vectors, singular values, right vectors as rows
};
template <class M>
SVD<M> svd(const Tensor<M>& a, Columns columns = Columns::complete);
/// The singular values alone, descending.
template <class M>
Tensor<M> svdvals(const Tensor<M>& a);

/// Eigenvalues, ascending, and eigenvectors as columns of a symmetric or Hermitian matrix, of which the lower triangle
/// is read. The gradient by the vectors is not finite where eigenvalues are equal.
template <class M>
struct Eigh {
  Tensor<M> values, vectors;  ///< eigenvalues, and eigenvectors as columns
};
template <class M>
Eigh<M> eigh(const Tensor<M>& a);
/// The eigenvalues alone.
template <class M>
Tensor<M> eigvalsh(const Tensor<M>& a);

/// Eigenvalues, in no particular order, and eigenvectors of length one as columns, of any square matrix: complex, c64
/// or c128. The gradient by the vectors is that of objectives to which their phases do not matter.
template <class M>
struct Eig {
  Tensor<M> values, vectors;  ///< eigenvalues, and eigenvectors as columns
};
template <class M>
Eig<M> eig(const Tensor<M>& a);
/// The eigenvalues alone.
template <class M>
Tensor<M> eigvals(const Tensor<M>& a);

// Functions of singular values.

/// The Moore-Penrose inverse; singular values up to `rtol` times the largest count as zero, by default the longer side
/// times the type's epsilon.
template <class M>
Tensor<M> pinv(const Tensor<M>& a, std::optional<double> rtol = {});
/// How many singular values are above `rtol` times the largest (default as for pinv), in i64.
template <class M>
Tensor<M> matrix_rank(const Tensor<M>& a, std::optional<double> rtol = {});

/// The x of least length among those for which a x - b is shortest. `residuals` are the squared lengths of a x - b by
/// column, for every rank.
template <class M>
struct LeastSquares {
  Tensor<M> solution, residuals, rank, singular_values;  ///< as numpy.linalg.lstsq gives them
};
template <class M>
LeastSquares<M> lstsq(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::optional<double> rtol = {});

// Powers.

/// a times itself, by squaring; of the inverse for a negative power.
template <class M>
Tensor<M> matrix_power(const Tensor<M>& a, std::int64_t power);
/// The sum of a^k / k!.
template <class M>
Tensor<M> expm(const Tensor<M>& a);
/// The product of matrices in the order that costs least; the first and the last may be vectors.
template <class M>
Tensor<M> multi_dot(const std::vector<Tensor<M>>& factors);
template <class M>
Tensor<M> multi_dot(std::initializer_list<Tensor<M>> factors) {
  return multi_dot(std::vector<Tensor<M>>(factors));
}

// Norms.

/// Norms of matrices that no number names.
enum class MatrixNorm { frobenius, nuclear };

/// The order of a norm: a number p (or infinity), or one of MatrixNorm; none for the root of the sum of squares.
class NormOrder {
 public:
  NormOrder() = default;
  template <class T>
  requires std::is_arithmetic_v<T> NormOrder(T p) : number_(static_cast<double>(p)) {}
  NormOrder(MatrixNorm norm) : norm_(norm) {}

  /// The number p, the norm of matrices, and whether there is neither.
  const std::optional<double>& number() const { return number_; }
  const std::optional<MatrixNorm>& matrix() const { return norm_; }
  bool none() const { return !number_ && !norm_; }

 private:
  std::optional<double> number_;
  std::optional<MatrixNorm> norm_;
};

/// NumPy's norm: of vectors along one axis, of matrices in two; of the whole without axes. Without an order and without
/// axes, x may have any rank.
template <class M>
Tensor<M> norm(const Tensor<M>& x, const NormOrder& order = {}, const Axes& axes = {}, KeepDims keepdims = false);
/// (sum |x|^p)^(1/p) over any axes, all without them; p = 0 counts what is not zero, infinities pick an extreme.
template <class M>
Tensor<M> vector_norm(const Tensor<M>& x, double p = 2, const Axes& axes = {}, KeepDims keepdims = false);
/// Norm of the matrices in the last two axes: frobenius, nuclear, 1, 2, infinity, or the negatives of those three.
template <class M>
Tensor<M> matrix_norm(const Tensor<M>& x, const NormOrder& order = MatrixNorm::frobenius, KeepDims keepdims = false);
/// How much a solution amplifies errors: norm(a) * norm(inv(a)), the ratio of singular values without an order.
template <class M>
Tensor<M> cond(const Tensor<M>& a, const NormOrder& order = {});

// Products and what is made of them.

/// Sum of the diagonal of the last two axes.
template <class M>
Tensor<M> trace(const Tensor<M>& x, std::int64_t k = 0);
/// Diagonal `k` of the last two axes.
template <class M>
Tensor<M> diagonal(const Tensor<M>& x, std::int64_t k = 0);
/// Sum of products along one axis.
template <class M>
Tensor<M> vecdot(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axis = -1);
/// Cross product of vectors of three elements along one axis.
template <class M>
Tensor<M> cross(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axis = -1);
/// Powers of x's elements as rows, x^(columns-1) first; increasing the other way round. Square without `columns`.
template <class M>
Tensor<M> vander(const Tensor<M>& x, std::optional<std::int64_t> columns = {}, Flag increasing = false);

/// Rows are variables and columns observations; sums are divided by the number of observations less `ddof`.
struct CovarianceOptions {
  bool rows_are_variables = true;  ///< or columns
  std::int64_t ddof = 1;           ///< subtracted from the count that sums are divided by
};
/// Covariances of variables with each other.
template <class M>
Tensor<M> cov(const Tensor<M>& x, const CovarianceOptions& options = {});
/// Correlations of variables with each other, from -1 to 1.
template <class M>
Tensor<M> corrcoef(const Tensor<M>& x, Flag rows_are_variables = true);
/// The same of two vectors, each a variable.
template <class M>
Tensor<M> cov(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y, const CovarianceOptions& options = {}) {
  return cov(stack({x, y}), options);
}
template <class M>
Tensor<M> corrcoef(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& y) {
  return corrcoef(stack({x, y}));
}

}  // namespace TYTO_API

// Those that NumPy has in its main namespace.
using linalg::corrcoef;
using linalg::cov;
using linalg::cross;
using linalg::vander;
using linalg::vecdot;

}  // namespace tyto
