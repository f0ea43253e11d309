// SPDX-License-Identifier: MIT
// Cholesky's factor and triangular systems.
#include "ops/linalg.hpp"
#include "ops/samples.hpp"
#include "tyto/products.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_cholesky(const Attributes&, std::span<const TensorType> inputs) {
  check_square("cholesky", inputs[0]);
  return {TensorType{inputs[0].dtype, inputs[0].shape, false},
          TensorType{DType::i64, stack_shape(inputs[0].shape), false}};
}

std::vector<TensorType> infer_triangular_solve(const Attributes&, std::span<const TensorType> inputs) {
  check_square("triangular_solve", inputs[0]);
  check_stacks("triangular_solve", inputs[0], inputs[1]);
  if (rows_of(inputs[0].shape) != rows_of(inputs[1].shape)) {
    throw_error<ShapeError>("triangular_solve: a right-hand side of shape ", inputs[1].shape,
                            " does not have the rows of ", inputs[0].shape);
  }
  return one(inputs[1].dtype, inputs[1].shape);
}

// dL = L low(L^-1 dA L^-H), where low takes the lower triangle with half of the diagonal; the gradient by A is made
// symmetric, since A is.
std::vector<Value> cholesky_gradient(const GradientContext& c) {
  if (!c.gradients[0]) return {Value()};
  const T factor = c.results[0];
  const T inner = matmul(adjoint(factor), T(c.gradients[0]));
  const T low = tril(inner, -1) + on_diagonal(diagonal_of(inner)) * 0.5;
  const T symmetric = (low + adjoint(low)) * 0.5;
  return {solve_triangle(adjoint(factor), solve_triangle_right(symmetric, factor, false), true)};
}

std::vector<Value> triangular_solve_gradient(const GradientContext& c) {
  const auto [upper, unit] = get<TriangularAttributes>(c.attributes);
  const T by_right = solve_triangle(adjoint(T(c.inputs[0])), c.gradients[0], !upper, unit);
  if (!c.needed[0]) return {Value(), by_right};
  const T whole = -matmul(by_right, adjoint(T(c.results[0])));
  const std::int64_t off = unit ? 1 : 0;
  return {upper ? triu(whole, off) : tril(whole, -off), by_right};
}

}  // namespace

std::span<const OpDef> linalg_triangle_operators() {
  static const OpDef rows[] = {
      {.id = OpId::cholesky,
       .doc = "The lower factor of a positive definite matrix; which minor is not positive.",
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_cholesky,
       .gradient = cholesky_gradient,
       .sample = [](DType t) -> Value { return linalg::cholesky(samples::square_matrix(t)); }},
      {.id = OpId::triangular_solve,
       .doc = "The solution of a system with a triangular matrix.",
       .min_inputs = 2,
       .max_inputs = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_triangular_solve,
       .gradient = triangular_solve_gradient,
       .sample = [](DType t) -> Value {
         return linalg::triangular_solve(samples::square_matrix(t), samples::square_matrix(t));
       }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Checked<M> cholesky_ex(const Tensor<M>& a, Flag upper) {
  TYTO_ONCE(cholesky_ex, a, upper);
  Tensor<M> x = core::matrix_operand("cholesky", a);
  core::check_square("cholesky", core::TensorType{x.dtype(), x.shape(), false});
  if (upper) x = Value(core::adjoint(Value(x)));
  const Value factor = core::emit(core::OpId::cholesky, core::NoAttributes{}, {x});
  return {upper ? Value(core::adjoint(factor)) : factor, core::result(factor, 1)};
}

template <class M>
Tensor<M> cholesky(const Tensor<M>& a, Flag upper) {
  TYTO_ONCE(cholesky, a, upper);
  const auto [factor, info] = cholesky_ex(a, upper);
  core::refuse_faulty("cholesky", info, "is not positive definite: this fails at the leading minor of order ");
  return factor;
}

template <class M>
Tensor<M> triangular_solve(const Tensor<M>& t, const std::type_identity_t<Tensor<M>>& b,
                           const TriangularOptions& options) {
  TYTO_ONCE(triangular_solve, t, b, options);
  return core::with_columns("triangular_solve", t, b, [&](const Value& triangle, const Value& right) -> Value {
    return core::solve_triangle(triangle, right, options.upper, options.unit);
  });
}

template <class M>
Tensor<M> cholesky_solve(const Tensor<M>& factor, const std::type_identity_t<Tensor<M>>& b, Flag upper) {
  TYTO_ONCE(cholesky_solve, factor, b, upper);
  return core::with_columns("cholesky_solve", factor, b, [&](const Value& given, const Value& right) -> Value {
    const core::AnyTensor other = core::adjoint(given);
    const Value lower = upper ? Value(other) : given, turned = upper ? given : Value(other);
    return core::solve_triangle(turned, core::solve_triangle(lower, right, false), true);
  });
}

TYTO_INSTANTIATE_LINALG(cholesky_ex)
TYTO_INSTANTIATE_LINALG(cholesky)
TYTO_INSTANTIATE_LINALG(triangular_solve)
TYTO_INSTANTIATE_LINALG(cholesky_solve)

}  // namespace TYTO_API
}  // namespace tyto
