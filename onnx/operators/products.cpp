// SPDX-License-Identifier: MIT
// Products of matrices and tensors.
#include "onnx/operators/products.hpp"

#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

Array scaled_product(const OperatorCall& call) {
  const Array a = call.integer("transA", 0) != 0 ? matrix_transpose(call[0]) : call[0];
  const Array b = call.integer("transB", 0) != 0 ? matrix_transpose(call[1]) : call[1];
  const double alpha = call.number("alpha", 1);
  // A product of halves that is made smaller need not fit before.
  return alpha == 1 ? matmul(a, b) : cast(matmul(halves_in_f32(a), halves_in_f32(b)) * alpha, a.dtype());
}

Array general_product(const OperatorCall& call) {
  const Array y = scaled_product(call);
  const double beta = call.number("beta", 1);
  if (!call.has(2) || beta == 0) return y;
  return y + (beta == 1 ? call[2] : cast(call[2] * beta, y.dtype()));
}

namespace {

Outputs product(const OperatorCall& call) { return {matmul(call[0], call[1])}; }

Outputs summation(const OperatorCall& call) { return {einsum(std::string(call.text("equation", "")), call.tensors())}; }

Outputs determinant(const OperatorCall& call) { return {linalg::det(call[0])}; }

constexpr OperatorRow product_table[] = {
    {"Det", 11, determinant},
    {"Einsum", 12, summation},
    {"Gemm", 7, [](const OperatorCall& call) { return Outputs(general_product(call)); }},
    {"MatMul", 1, product},
};

}  // namespace

std::span<const OperatorRow> product_rows() { return product_table; }

}  // namespace tyto::onnx
