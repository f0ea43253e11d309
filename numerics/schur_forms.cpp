// SPDX-License-Identifier: MIT
// Schur and Hessenberg forms of matrices and of pairs, LDL^H factors: the public functions over Eigen's kernels.
#include <limits>

#include "numerics/matrix_operator.hpp"
#include "tyto/complex.hpp"
#include "tyto/matrix_functions.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core::schur_forms {

using T = AnyTensor;

constexpr const char* not_converged = "the iteration did not converge";

void check_squares(std::string_view function, const std::vector<T>& matrices) {
  for (const T& each : matrices) {
    check_square(function, TensorType{each.dtype(), each.shape(), false});
    if (each.shape() != matrices[0].shape()) {
      throw_error<ShapeError>(function, ": matrices of one size are needed, not of shapes ", matrices[0].shape(),
                              " and ", each.shape());
    }
  }
}

/// The operator's results for square matrices of one size.
std::vector<T> factors(const CustomOp& op, std::string_view function, const std::vector<Value>& matrices) {
  const std::vector<T> operands = alike(function, matrices);
  check_squares(function, operands);
  const std::vector<T> found = apply(op, function, operands);
  refuse_nan(function, operands, found[0], not_converged);
  return found;
}

/// The factors put in order by an operator whose first operand is the selection as a row.
std::vector<T> ordered(const CustomOp& op, std::string_view function, const std::vector<Value>& parts,
                       const Value& select) {
  std::vector<T> operands = alike(function, parts);
  check_squares(function, operands);
  const T chosen = given(function, select);
  const Shape stack = stack_shape(operands[0].shape());
  const std::int64_t rows = rows_of(operands[0].shape());
  const Shape wanted = extended(stack, {rows});
  if (chosen.ndim() == 0 || chosen.shape().back() != rows || chosen.ndim() > static_cast<int>(wanted.size())) {
    throw_error<ShapeError>(function, ": the selection needs an element for each of the ", rows,
                            " rows, but it is of shape ", chosen.shape());
  }
  const T row = expand_dims(broadcast_to(cast(chosen != 0, operands[0].dtype()), wanted), -2);
  operands.insert(operands.begin(), row);
  const std::vector<T> found = apply(op, function, operands);
  return found;
}

const CustomOp& schur_operator() {
  static const CustomOp op =
      custom_op({.name = "schur", .inputs = 1, .kernels = eigen_kernels::schur, .like = 0, .results = 2});
  return op;
}
const CustomOp& hess_operator() {
  static const CustomOp op =
      custom_op({.name = "hess", .inputs = 1, .kernels = eigen_kernels::hess, .like = 0, .results = 2});
  return op;
}
const CustomOp& qz_operator() {
  static const CustomOp op =
      custom_op({.name = "qz", .inputs = 2, .kernels = eigen_kernels::qz, .like = 0, .results = 4});
  return op;
}
const CustomOp& ordschur_operator() {
  static const CustomOp op =
      custom_op({.name = "ordschur", .inputs = 3, .kernels = eigen_kernels::ordschur, .like = 1, .results = 2});
  return op;
}
const CustomOp& ordqz_operator() {
  static const CustomOp op =
      custom_op({.name = "ordqz", .inputs = 5, .kernels = eigen_kernels::ordqz, .like = 1, .results = 4});
  return op;
}
const CustomOp& ldl_operator(bool hermitian) {
  static const CustomOp with_conjugates =
      custom_op({.name = "ldl", .inputs = 1, .kernels = eigen_kernels::ldl, .like = 0, .results = 2, .and_row = true});
  static const CustomOp without = custom_op(
      {.name = "ldl", .inputs = 1, .kernels = eigen_kernels::symmetric_ldl, .like = 0, .results = 2, .and_row = true});
  return hermitian ? with_conjugates : without;
}

}  // namespace tyto::core::schur_forms

namespace tyto {
namespace linalg TYTO_API {

namespace forms = core::schur_forms;

template <class M>
Schur<M> schur(const Tensor<M>& a) {
  TYTO_ONCE(schur, a);
  const auto found = forms::factors(forms::schur_operator(), "schur", {a});
  return {found[0].value(), found[1].value()};
}

template <class M>
Schur<M> ordschur(const Schur<M>& form, const std::type_identity_t<Tensor<M>>& select) {
  TYTO_ONCE(ordschur, form, select);
  const auto found = forms::ordered(forms::ordschur_operator(), "ordschur", {form.t, form.z}, select);
  return {found[0].value(), found[1].value()};
}

template <class M>
Hessenberg<M> hess(const Tensor<M>& a) {
  TYTO_ONCE(hess, a);
  const auto found = forms::factors(forms::hess_operator(), "hess", {a});
  return {found[0].value(), found[1].value()};
}

template <class M>
QZ<M> qz(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(qz, a, b);
  const auto found = forms::factors(forms::qz_operator(), "qz", {a, b});
  return {found[0].value(), found[1].value(), found[2].value(), found[3].value()};
}

template <class M>
QZ<M> ordqz(const QZ<M>& form, const std::type_identity_t<Tensor<M>>& select) {
  TYTO_ONCE(ordqz, form, select);
  const auto found = forms::ordered(forms::ordqz_operator(), "ordqz", {form.s, form.t, form.q, form.z}, select);
  return {found[0].value(), found[1].value(), found[2].value(), found[3].value()};
}

template <class M>
Tensor<M> qzvals(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(qzvals, a, b);
  const std::vector<core::AnyTensor> both = core::alike("qzvals", {a, b});
  const DType type = complex_type(both[0].dtype());
  const auto found = forms::factors(forms::qz_operator(), "qzvals",
                                    {core::cast_to(both[0].value(), type), core::cast_to(both[1].value(), type)});
  const core::AnyTensor above = core::diagonal_of(found[0]), below = core::diagonal_of(found[1]);
  // A complex number divided by zero has a NaN in it; an infinite eigenvalue is one on the real axis.
  const core::AnyTensor size = abs(below), infinite = logical_and(size == 0, abs(above) != 0);
  const core::AnyTensor ratio = above / where(infinite, core::number_like(below.value(), 1), below);
  return where(infinite, core::number_like(below.value(), std::numeric_limits<double>::infinity()), ratio).value();
}

template <class M>
LDL<M> ldl(const Tensor<M>& a, Flag hermitian) {
  TYTO_ONCE(ldl, a, hermitian);
  const auto found = forms::factors(forms::ldl_operator(hermitian), "ldl", {a});
  const core::AnyTensor row = squeeze(found[2], -2);
  return {found[0].value(), found[1].value(), cast(is_complex(row.dtype()) ? real(row) : row, DType::i64).value()};
}

TYTO_INSTANTIATE_LINALG(schur)
TYTO_INSTANTIATE_LINALG(ordschur)
TYTO_INSTANTIATE_LINALG(hess)
TYTO_INSTANTIATE_LINALG(qz)
TYTO_INSTANTIATE_LINALG(ordqz)
TYTO_INSTANTIATE_LINALG(qzvals)
TYTO_INSTANTIATE_LINALG(ldl)

}  // namespace TYTO_API
}  // namespace tyto
