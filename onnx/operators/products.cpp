// SPDX-License-Identifier: MIT
// Products of matrices and tensors.
#include "tyto/products.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs product(const OperatorCall& call) { return {matmul(call[0], call[1])}; }

Outputs general_product(const OperatorCall& call) {
  const Array a = call.integer("transA", 0) != 0 ? matrix_transpose(call[0]) : call[0];
  const Array b = call.integer("transB", 0) != 0 ? matrix_transpose(call[1]) : call[1];
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  Array y = matmul(a, b);
  const DType type = call[0].dtype();
  if (alpha != 1) y = cast(y * alpha, type);
  if (!call.has(2) || beta == 0) return {y};
  return {y + (beta == 1 ? call[2] : cast(call[2] * beta, type))};
}

Outputs summation(const OperatorCall& call) { return {einsum(std::string(call.text("equation", "")), call.tensors())}; }

Outputs determinant(const OperatorCall& call) { return {linalg::det(call[0])}; }

constexpr OperatorRow product_table[] = {
    {"Det", 11, determinant},
    {"Einsum", 12, summation},
    {"Gemm", 7, general_product},
    {"MatMul", 1, product},
};

}  // namespace

std::span<const OperatorRow> product_rows() { return product_table; }

}  // namespace tyto::onnx
