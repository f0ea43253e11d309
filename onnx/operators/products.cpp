// SPDX-License-Identifier: MIT
// Products of matrices and tensors.
#include "onnx/operators/products.hpp"

#include "onnx/program/operators.hpp"
#include "tyto/linalg.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Array operand(const OperatorCall& call, std::size_t i, const char* transposed) {
  return call.integer(transposed, 0) != 0 ? matrix_transpose(call[i]) : call[i];
}

Array times(const Array& x, double factor) { return factor == 1 ? x : cast(x * factor, x.dtype()); }

}  // namespace

Array general_product(const OperatorCall& call) {
  const Array a = operand(call, 0, "transA"), b = operand(call, 1, "transB");
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  const bool more = beta != 0 && call.has(2);
  if (alpha == 1 && beta == 1) return more ? matmul(a, b) + call[2] : matmul(a, b);
  // Products that alpha scales down need not fit into halves before.
  const Array y = times(matmul(halves_in_f32(a), halves_in_f32(b)), alpha);
  return cast(more ? y + times(halves_in_f32(call[2]), beta) : y, a.dtype());
}

namespace {

Outputs product(const OperatorCall& call) { return {matmul(call[0], call[1])}; }
Outputs product_and_sum(const OperatorCall& call) { return {general_product(call)}; }

Outputs summation(const OperatorCall& call) { return {einsum(std::string(call.text("equation", "")), call.tensors())}; }

Outputs determinant(const OperatorCall& call) { return {linalg::det(call[0])}; }

constexpr OperatorRow product_table[] = {
    {"Det", 11, determinant},
    {"Einsum", 12, summation},
    {"Gemm", 7, product_and_sum},
    {"MatMul", 1, product},
};

}  // namespace

std::span<const OperatorRow> product_rows() { return product_table; }

}  // namespace tyto::onnx
