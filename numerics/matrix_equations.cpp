// SPDX-License-Identifier: MIT
// Equations of Sylvester, Lyapunov and Riccati. Linear ones have the adjoint equation as gradient; Riccati's are solved
// by ordered Schur forms, then by two of Newton's steps, which are linear equations and carry the gradients.
#include "numerics/matrix_equations.hpp"

#include <limits>

#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/matrix_functions.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core {

namespace matrix_equations {

using T = AnyTensor;
using Tensors = std::vector<AnyTensor>;

Tensors continuous_gradient(const Tensors& in, const Tensors& out, const Tensors& g) {
  const T c = continuous_equation("sylvester", adjoint(in[0]), adjoint(in[1]), g[0]), x = adjoint(out[0]);
  return {-matmul(c, x), -matmul(x, c), c};
}

Tensors discrete_gradient(const Tensors& in, const Tensors& out, const Tensors& g) {
  const T left = adjoint(in[0]), right = adjoint(in[1]), x = adjoint(out[0]);
  const T c = discrete_equation("discrete_lyapunov", left, right, g[0]);
  return {matmul(matmul(c, right), x), matmul(matmul(x, left), c), c};
}

constexpr const char* overlap =
    "there is no unique solution: an eigenvalue of the first matrix and one of the second add up to zero";
constexpr const char* mirrored =
    "there is no unique solution: an eigenvalue of a and the conjugate of another, or of the same one, add up to zero";
constexpr const char* reciprocal =
    "there is no unique solution: the product of an eigenvalue and the conjugate of "
    "another, or of the same one, is one";

T solution_of(std::string_view function, const Tensors& in, bool discrete, const char* undetermined) {
  check_square(function, TensorType{in[0].dtype(), in[0].shape(), false});
  check_square(function, TensorType{in[1].dtype(), in[1].shape(), false});
  const std::int64_t rows = rows_of(in[0].shape()), columns = rows_of(in[1].shape());
  if (rows_of(in[2].shape()) != rows || columns_of(in[2].shape()) != columns) {
    throw_error<ShapeError>(function, ": the right-hand side needs ", rows, " rows and ", columns,
                            " columns, but it is of shape ", in[2].shape());
  }
  const T x =
      discrete ? discrete_equation(function, in[0], in[1], in[2]) : continuous_equation(function, in[0], in[1], in[2]);
  refuse_nan(function, in, x, undetermined);
  return x;
}

T hermitian(const T& x) { return (x + adjoint(x)) / 2.0; }

/// left^-1 right, NaN where there is no inverse.
T quotient(const T& left, const T& right) { return linalg::solve_ex(left, right).value; }

T blocks(const T& a, const T& b, const T& c, const T& d) {
  return concat(Tensors{concat(Tensors{a, b}, -1), concat(Tensors{c, d}, -1)}, -2);
}

/// x for the subspace that the first n columns of z span: its lower half times the inverse of its upper one. NaN where
/// not just n eigenvalues are selected.
T solution_in(const T& z, const T& select, DType type) {
  const std::int64_t n = rows_of(z.shape()) / 2;
  const auto rows = static_cast<std::size_t>(z.ndim() - 2);
  const T half = part_along(z, rows + 1, 0, n);
  const T upper = part_along(half, rows, 0, n), lower = part_along(half, rows, n, n);
  T x = adjoint(quotient(adjoint(upper), adjoint(lower)));
  if (!is_complex(type)) x = real(x);
  const T stable = expand_dims(expand_dims(sum(cast(select, DType::i64), -1), -1), -1) == n;
  const T nothing = number_like(zeros_like(real(x)).value(), 0);
  return x + where(stable, nothing, number_like(nothing.value(), std::numeric_limits<double>::quiet_NaN()));
}

void check_riccati(std::string_view function, const Tensors& in) {
  check_square(function, TensorType{in[0].dtype(), in[0].shape(), false});
  const std::int64_t n = rows_of(in[0].shape()), m = columns_of(in[1].shape());
  const auto check = [&](const T& x, const char* name, std::int64_t rows, std::int64_t columns) {
    if (rows_of(x.shape()) == rows && columns_of(x.shape()) == columns) return;
    throw_error<ShapeError>(function, ": ", name, " needs ", rows, " rows and ", columns, " columns beside a of shape ",
                            in[0].shape(), " and b of shape ", in[1].shape(), ", but it is of shape ", x.shape());
  };
  check(in[1], "b", n, m);
  check(in[2], "q", n, n);
  check(in[3], "r", m, m);
}

constexpr const char* not_stabilising =
    "there is no stabilising solution: eigenvalues lie on the border of stability, or r has no inverse";

T continuous_riccati(const Tensors& in) {
  check_riccati("care", in);
  const T a = in[0], b = in[1], q = hermitian(in[2]), r = hermitian(in[3]);
  const T still = stop_gradient(a), control = stop_gradient(b);
  const T g = matmul(control, quotient(stop_gradient(r), adjoint(control)));
  const T hamiltonian = blocks(still, -g, -stop_gradient(q), -adjoint(still));
  const auto form = linalg::schur(T(cast_to(hamiltonian.value(), complex_type(a.dtype()))));
  const T select = less(real(diagonal_of(form.t)), 0);
  T x = solution_in(linalg::ordschur(form, select).z, select, a.dtype());
  for (int step = 0; step < 2; ++step) {
    const T feedback = quotient(r, matmul(adjoint(b), hermitian(x)));
    const T closed = a - matmul(b, feedback);
    x = continuous_equation("care", adjoint(closed), closed, -(q + matmul(adjoint(feedback), matmul(r, feedback))));
  }
  x = hermitian(x);
  refuse_nan("care", in, x, not_stabilising);
  return x;
}

T discrete_riccati(const Tensors& in) {
  check_riccati("dare", in);
  const T a = in[0], b = in[1], q = hermitian(in[2]), r = hermitian(in[3]);
  const T still = stop_gradient(a), control = stop_gradient(b);
  const T g = matmul(control, quotient(stop_gradient(r), adjoint(control)));
  const T one = identities_like(still), none = zeros_like(still);
  const DType wide = complex_type(a.dtype());
  const T first = cast_to(blocks(still, none, -stop_gradient(q), one).value(), wide);
  const T second = cast_to(blocks(one, g, none, adjoint(still)).value(), wide);
  const auto form = linalg::qz(first, second);
  const T select = less(abs(diagonal_of(form.s)), abs(diagonal_of(form.t)));
  T x = solution_in(linalg::ordqz(form, select).z, select, a.dtype());
  for (int step = 0; step < 2; ++step) {
    const T before = matmul(adjoint(b), hermitian(x));
    const T feedback = quotient(r + matmul(before, b), matmul(before, a));
    const T closed = a - matmul(b, feedback);
    x = discrete_equation("dare", adjoint(closed), closed, q + matmul(adjoint(feedback), matmul(r, feedback)));
  }
  x = hermitian(x);
  refuse_nan("dare", in, x, not_stabilising);
  return x;
}

}  // namespace matrix_equations

AnyTensor continuous_equation(std::string_view function, const AnyTensor& a, const AnyTensor& b, const AnyTensor& c) {
  static const CustomOp op = custom_op({.name = "sylvester",
                                        .inputs = 3,
                                        .kernels = eigen_kernels::sylvester,
                                        .like = 2,
                                        .results = 1,
                                        .gradient = matrix_equations::continuous_gradient});
  return apply(op, function, {a, b, c})[0];
}

AnyTensor discrete_equation(std::string_view function, const AnyTensor& a, const AnyTensor& b, const AnyTensor& c) {
  static const CustomOp op = custom_op({.name = "discrete_lyapunov",
                                        .inputs = 3,
                                        .kernels = eigen_kernels::stein,
                                        .like = 2,
                                        .results = 1,
                                        .gradient = matrix_equations::discrete_gradient});
  return apply(op, function, {a, b, c})[0];
}

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Tensor<M> sylvester(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                    const std::type_identity_t<Tensor<M>>& c) {
  TYTO_ONCE(sylvester, a, b, c);
  return core::matrix_equations::solution_of("sylvester", core::alike("sylvester", {a, b, c}), false,
                                             core::matrix_equations::overlap)
      .value();
}

template <class M>
Tensor<M> lyapunov(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& q) {
  TYTO_ONCE(lyapunov, a, q);
  const auto in = core::alike("lyapunov", {a, q});
  return core::matrix_equations::solution_of("lyapunov", {in[0], core::adjoint(in[0]), in[1]}, false,
                                             core::matrix_equations::mirrored)
      .value();
}

template <class M>
Tensor<M> discrete_lyapunov(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& q) {
  TYTO_ONCE(discrete_lyapunov, a, q);
  const auto in = core::alike("discrete_lyapunov", {a, q});
  return core::matrix_equations::solution_of("discrete_lyapunov", {in[0], core::adjoint(in[0]), in[1]}, true,
                                             core::matrix_equations::reciprocal)
      .value();
}

template <class M>
Tensor<M> care(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const std::type_identity_t<Tensor<M>>& q,
               const std::type_identity_t<Tensor<M>>& r) {
  TYTO_ONCE(care, a, b, q, r);
  return core::matrix_equations::continuous_riccati(core::alike("care", {a, b, q, r})).value();
}

template <class M>
Tensor<M> dare(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, const std::type_identity_t<Tensor<M>>& q,
               const std::type_identity_t<Tensor<M>>& r) {
  TYTO_ONCE(dare, a, b, q, r);
  return core::matrix_equations::discrete_riccati(core::alike("dare", {a, b, q, r})).value();
}

TYTO_INSTANTIATE_LINALG(sylvester)
TYTO_INSTANTIATE_LINALG(lyapunov)
TYTO_INSTANTIATE_LINALG(discrete_lyapunov)
TYTO_INSTANTIATE_LINALG(care)
TYTO_INSTANTIATE_LINALG(dare)

}  // namespace TYTO_API
}  // namespace tyto
