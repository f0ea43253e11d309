// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of matrices that need not be symmetric, which are complex.
#include "ops/linalg.hpp"
#include "ops/samples.hpp"
#include "tyto/complex.hpp"
#include "tyto/products.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

template <OpId id>
std::vector<TensorType> infer_eigen(const Attributes&, std::span<const TensorType> inputs) {
  const std::string_view op = definition(id).name;
  const auto& [dtype, shape, weak] = inputs[0];
  if (!is_complex(dtype)) throw_error<TypeError>(op, ": complex elements are needed, not ", dtype);
  check_square(op, TensorType{real_type(dtype), shape, false});
  const TensorType values{dtype, extended(stack_shape(shape), {rows_of(shape)}), false};
  if (id == OpId::eigvals) return {values};
  return {values, inputs[0]};
}

// gA = V^-H (diag(gw) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(w_j - w_i)) V^H, the vectors being of length one and
// their phases of no importance to the objective; as PyTorch's.
std::vector<Value> gradient_by(const T& values, const T& vectors, const Value& g_values, const Value& g_vectors) {
  const T back = adjoint(vectors);
  Value inner;
  if (g_vectors) {
    const T turn = matmul(back, T(g_vectors));
    const T lengths = expand_dims(real(diagonal_of(turn)), -2);
    const T stretched = turn - matmul(back, vectors) * lengths;
    const T apart = conj(expand_dims(values, -2) - expand_dims(values, -1)) + on_diagonal(ones_like(values));
    const T off = stretched / apart;
    inner = off - on_diagonal(diagonal_of(off));
  }
  if (g_values) inner = added(inner, on_diagonal(T(g_values)));
  return {emit(OpId::solve, NoAttributes{}, {back, matmul(T(inner), back)})};
}

std::vector<Value> eig_gradient(const GradientContext& c) {
  return gradient_by(c.results[0], c.results[1], c.gradients[0], c.gradients[1]);
}

std::vector<Value> eigvals_gradient(const GradientContext& c) {
  const Value values = emit_iteration(OpId::eig, NoAttributes{}, {c.inputs[0]});
  return gradient_by(values, result(values, 1), c.gradients[0], Value());
}

}  // namespace

std::span<const OpDef> linalg_eigen_operators() {
  static const OpDef rows[] = {
      {.id = OpId::eig,
       .doc = "Eigenvalues and eigenvectors of a square matrix.",
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_eigen<OpId::eig>,
       .gradient = eig_gradient,
       .sample = [](DType t) -> Value { return linalg::eig(samples::square_matrix(t)).vectors; }},
      {.id = OpId::eigvals,
       .doc = "Eigenvalues of a square matrix.",
       .traits = traits(Traits::takes_complex),
       .infer = infer_eigen<OpId::eigvals>,
       .gradient = eigvals_gradient,
       .sample = [](DType t) -> Value { return linalg::eigvals(samples::square_matrix(t)); }},
  };
  return rows;
}

namespace {

Value complex_operand(std::string_view op, const Value& a) {
  const Value x = matrix_operand(op, a);
  check_square(op, TensorType{real_type(x.dtype()), x.shape(), false});
  return cast_to(x, complex_type(x.dtype()));
}

}  // namespace

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Eig<M> eig(const Tensor<M>& a) {
  const Value values = core::emit_iteration(core::OpId::eig, core::NoAttributes{}, {core::complex_operand("eig", a)});
  return {values, core::result(values, 1)};
}

template <class M>
Tensor<M> eigvals(const Tensor<M>& a) {
  return core::emit_iteration(core::OpId::eigvals, core::NoAttributes{}, {core::complex_operand("eigvals", a)});
}

TYTO_INSTANTIATE_LINALG(eig)
TYTO_INSTANTIATE_LINALG(eigvals)

}  // namespace TYTO_API
}  // namespace tyto
