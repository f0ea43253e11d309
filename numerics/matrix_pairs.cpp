// SPDX-License-Identifier: MIT
// Generalised eigenvalues and singular values of pairs of matrices, and null spaces: composed of factorisations.
#include <algorithm>
#include <span>
#include <vector>

#include "numerics/matrix_operator.hpp"
#include "tyto/complex.hpp"
#include "tyto/matrix_functions.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core::matrix_pairs {

using T = AnyTensor;
using Tensors = std::vector<AnyTensor>;

struct Cosines {
  T u, v, c, s, x;
};

T rows_from(const T& x, std::int64_t start, std::int64_t count) {
  return part_along(x, static_cast<std::size_t>(x.ndim() - 2), start, count);
}
T columns_from(const T& x, std::int64_t start, std::int64_t count) {
  return part_along(x, static_cast<std::size_t>(x.ndim() - 1), start, count);
}

/// Values as the diagonal that begins at `column` of a matrix of that many rows and columns.
T placed(const T& values, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  const std::int64_t count = values.shape().back();
  std::vector<std::int64_t> before(static_cast<std::size_t>(values.ndim()) + 1, 0), after = before;
  before.back() = column;
  after.back() = columns - column - count;
  after[after.size() - 2] = rows - count;
  return pad(on_diagonal(values), IntList(std::span<const std::int64_t>(before)),
             IntList(std::span<const std::int64_t>(after)));
}

// Van Loan 1976 by one QR, one SVD and another QR: both matrices stacked have orthonormal columns, whose upper part has
// the cosines as singular values. Its right vectors make the columns of the lower part orthogonal, their lengths being
// the sines; longest first, a QR of them is stable.
Cosines cosines_and_sines(const Value& first, const Value& second) {
  const Tensors in = alike("gsvd", {first, second});
  const std::int64_t m = rows_of(in[0].shape()), p = rows_of(in[1].shape()), n = columns_of(in[0].shape());
  if (columns_of(in[1].shape()) != n) {
    throw_error<ShapeError>("gsvd: matrices of as many columns are needed, not of shapes ", in[0].shape(), " and ",
                            in[1].shape());
  }
  if (m + p < n) {
    throw_error<ShapeError>(
        "gsvd: both matrices together need at least as many rows as columns, but they are of shapes ", in[0].shape(),
        " and ", in[1].shape());
  }
  const auto [q, r] = linalg::qr(concat(in, -2));
  const auto [u, c, wh] = linalg::svd(rows_from(q, 0, m), linalg::Columns::complete);
  const T y = matmul(rows_from(q, m, p), adjoint(wh));
  const auto [v, triangle] = linalg::qr(flip(y, {-1}), linalg::Columns::complete);
  const std::int64_t k = std::min(p, n);
  const T lengths = diagonal_of(triangle), s = abs(lengths);
  const T one = number_like(s.value(), 1);
  // The triangle's diagonal is real.
  const T real_lengths = is_complex(lengths.dtype()) ? real(lengths) : lengths;
  const T signs = where(less(real_lengths, 0), -one, one);
  const T turned = flip(columns_from(v, 0, k) * expand_dims(signs, -2), {-1});
  const T all_v = concat(Tensors{turned, columns_from(v, k, p - k)}, -1);
  return {u, all_v, placed(c, 0, m, n), placed(flip(s, {-1}), n - k, p, n), matmul(wh, r)};
}

/// The sum of squares down each column.
T lengths_of(const T& x) { return sqrt(sum(x * x, -2)); }

struct Reduced {
  T matrix, factor;
};

/// A Hermitian matrix with the eigenvalues of the pair, and the Cholesky factor of b.
Reduced reduced(std::string_view function, const Value& first, const Value& second) {
  const Tensors in = alike(function, {first, second});
  for (const T& each : in) {
    check_square(function, TensorType{each.dtype(), each.shape(), false});
    if (each.shape() != in[0].shape()) {
      throw_error<ShapeError>(function, ": matrices of one size are needed, not of shapes ", in[0].shape(), " and ",
                              in[1].shape());
    }
  }
  const T factor = linalg::cholesky(in[1]);
  const T a = tril(in[0]) + adjoint(tril(in[0], -1));
  const T once = solve_triangle(factor, a, false);
  return {solve_triangle(factor, adjoint(once), false), factor};
}

Value divided(std::string_view function, const Value& first, const Value& second) {
  const Tensors in = alike(function, {first, second});
  for (const T& each : in) check_square(function, TensorType{each.dtype(), each.shape(), false});
  const T x = linalg::solve_ex(in[1], in[0]).value;
  refuse_nan(function, in, x, "the second matrix has no inverse; qzvals() takes such pairs");
  return x;
}

}  // namespace tyto::core::matrix_pairs

namespace tyto {
namespace linalg TYTO_API {

namespace pairs = core::matrix_pairs;

template <class M>
GSVD<M> gsvd(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  const pairs::Cosines found = pairs::cosines_and_sines(a, b);
  return {found.u.value(), found.v.value(), found.c.value(), found.s.value(), found.x.value()};
}

template <class M>
Tensor<M> gsvdvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(gsvdvals, a, b);
  const pairs::Cosines found = pairs::cosines_and_sines(a, b);
  return (pairs::lengths_of(found.c) / pairs::lengths_of(found.s)).value();
}

template <class M>
Eig<M> eig(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  const Eig<Any> found = eig(Tensor<Any>(pairs::divided("eig", a, b)));
  return {found.values.value(), found.vectors.value()};
}

template <class M>
Tensor<M> eigvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return eigvals(Tensor<Any>(pairs::divided("eigvals", a, b))).value();
}

template <class M>
Eigh<M> eigh(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  const auto [matrix, factor] = pairs::reduced("eigh", a, b);
  const Eigh<Any> found = eigh(matrix);
  return {found.values.value(), core::solve_triangle(core::adjoint(factor), found.vectors, true).value()};
}

template <class M>
Tensor<M> eigvalsh(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  return eigvalsh(pairs::reduced("eigvalsh", a, b).matrix).value();
}

template <class M>
Tensor<M> null_space(const Tensor<M>& a, std::optional<double> rtol) {
  const Tensor<M> x = core::matrix_operand("null_space", a);
  core::check_matrices("null_space", core::TensorType{x.dtype(), x.shape(), false});
  if (x.size() == 0 && core::stack_shape(x.shape()).empty()) {
    return Value(core::cast_to(Value(Tensor<M>::eye(core::columns_of(x.shape()))), x.dtype()));
  }
  const auto ranks = matrix_rank(x, rtol).template to_vector<std::int64_t>();
  for (const std::int64_t rank : ranks) {
    if (rank != ranks[0]) {
      core::throw_error<ValueError>("null_space: matrices of one rank are needed, but there are ranks ", ranks[0],
                                    " and ", rank, " in the stack of shape ", core::stack_shape(x.shape()));
    }
  }
  const std::int64_t columns = core::columns_of(x.shape());
  const std::int64_t rank = ranks.empty() ? std::min(core::rows_of(x.shape()), columns) : ranks[0];
  const Value vh = svd(x, Columns::complete).vh;
  return core::adjoint(pairs::rows_from(vh, rank, columns - rank)).value();
}

TYTO_INSTANTIATE_LINALG(gsvd)
TYTO_INSTANTIATE_LINALG(gsvdvals)
TYTO_INSTANTIATE_LINALG(null_space)
#define TYTO_INSTANTIATE_PAIRS(M)                                 \
  template Eig<M> eig(const Tensor<M>&, const Tensor<M>&);        \
  template Tensor<M> eigvals(const Tensor<M>&, const Tensor<M>&); \
  template Eigh<M> eigh(const Tensor<M>&, const Tensor<M>&);      \
  template Tensor<M> eigvalsh(const Tensor<M>&, const Tensor<M>&);
TYTO_INSTANTIATE_PAIRS(Eager)
TYTO_INSTANTIATE_PAIRS(Lazy)
TYTO_INSTANTIATE_PAIRS(Any)
#undef TYTO_INSTANTIATE_PAIRS

}  // namespace TYTO_API
}  // namespace tyto
