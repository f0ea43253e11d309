// SPDX-License-Identifier: MIT
// Shared by linear algebra: checks of stacks of matrices, their shapes, and short forms for gradient rules.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "tyto/linalg.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

/// Throws ShapeError where there are no two axes for a matrix, TypeError where the elements are not f32 or f64 or
/// complex numbers of these, of which alone matrices are factorised.
void check_matrices(std::string_view op, const TensorType& type);
/// As check_matrices; and throws ShapeError where rows and columns differ in number.
void check_square(std::string_view op, const TensorType& type);
/// Throws unless both are stacks of matrices of one element type, in stacks of one shape.
void check_stacks(std::string_view op, const TensorType& a, const TensorType& b);

std::int64_t rows_of(const Shape& shape);
std::int64_t columns_of(const Shape& shape);
/// The shape without its last two axes.
Shape stack_shape(const Shape& shape);
/// The shape with further axes.
Shape extended(Shape shape, std::initializer_list<std::int64_t> lengths);

/// The operand as factorisations take it: there, and of floating elements (integers become f32).
Value matrix_operand(std::string_view op, const Value& value);
/// Two operands brought to one element type and one shape of stack.
std::pair<Value, Value> matrix_operands(std::string_view op, const Value& a, const Value& b);

/// Applies f(a, b) to a vector b as to a matrix of one column.
template <class F>
Value with_columns(std::string_view op, const Value& a, const Value& b, const F& f) {
  const AnyTensor matrix = matrix_operand(op, a);
  AnyTensor right = matrix_operand(op, b);
  if (right.ndim() == 0) throw_error<ShapeError>(op, ": a right-hand side needs an axis, but it is a number");
  const bool vector = right.ndim() == 1;
  if (vector) right = expand_dims(right, -1);
  const auto [left, columns] = matrix_operands(op, matrix, right);
  const AnyTensor x = f(left, columns);
  return vector ? squeeze(x, -1) : x;
}

/// Eager mode: throws ValueError where `info`, one integer a matrix, is not zero for a matrix. `fault` says what
/// that number means, as "is singular: pivot " does. Nothing is read where a graph is recorded.
void refuse_faulty(std::string_view op, const Value& info, std::string_view fault);

/// As emit, for an operator that iterates and whose result number `values` holds eigenvalues or singular values. Eager
/// mode: throws ValueError where the iteration did not converge for a matrix of finite elements, whose results are NaN.
Value emit_iteration(OpId id, const Attributes& attributes, const std::vector<Value>& operands,
                     std::uint32_t values = 0);
/// Throws where eager results of operator `id` for the matrices of a did not converge; see emit_iteration.
void refuse_unconverged(OpId id, const Value& a, const Value& values);

// Short forms for rules.
AnyTensor solve_triangle(const Value& triangle, const Value& right, bool upper, bool unit = false);
/// left * triangle^-1
AnyTensor solve_triangle_right(const Value& left, const Value& triangle, bool upper, bool unit = false);
AnyTensor solve_lu(const Value& lu, const Value& permutation, const Value& right, bool transposed);
/// The same with the adjoint of the matrix.
AnyTensor solve_lu_adjoint(const Value& lu, const Value& permutation, const Value& right);
/// The transpose, conjugated where elements are complex.
AnyTensor adjoint(const AnyTensor& x);
/// Zeros with the last axis as diagonal.
AnyTensor on_diagonal(const AnyTensor& x);
AnyTensor diagonal_of(const AnyTensor& x);
/// A stack of identities as wide as x's matrices.
AnyTensor identities_like(const AnyTensor& x);

/// a + b, or the one of them that is there.
Value added(const Value& a, const Value& b);

/// The value 0-d in x's element type.
AnyTensor number_like(const Value& x, double number);

}  // namespace tyto::core

/// As TYTO_INSTANTIATE, for the functions of tyto::linalg.
#define TYTO_INSTANTIATE_LINALG(name)                                \
  [[gnu::used]] static constexpr auto tyto_keep_##name = std::tuple( \
      &::tyto::linalg::name<::tyto::Eager>, &::tyto::linalg::name<::tyto::Lazy>, &::tyto::linalg::name<::tyto::Any>);
