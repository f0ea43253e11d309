// SPDX-License-Identifier: MIT
// Checks and short forms that the operators of linear algebra share.
#include "ops/linalg.hpp"

#include <cmath>
#include <complex>

#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

/// Calls f(i) for each matrix whose first value is NaN: then all of them are.
template <class Number, class F>
void for_each_nan(const Tensor<Eager>& values, const F& f) {
  const std::span<const Number> numbers = values.data<Number>();
  const auto length = static_cast<std::size_t>(values.shape().back());
  for (std::size_t i = 0; length > 0 && i < numbers.size() / length; ++i) {
    if (std::isnan(std::real(numbers[i * length]))) f(i);
  }
}

}  // namespace

void check_matrices(std::string_view op, const TensorType& type) {
  if (type.shape.size() < 2) {
    throw_error<ShapeError>(op, ": matrices need two axes or more, not shape ", type.shape);
  }
  if (real_type(type.dtype) != DType::f32 && real_type(type.dtype) != DType::f64) {
    throw_error<TypeError>(op, ": matrices of ", type.dtype, " are not factorised; cast them to f32 or f64 before");
  }
}

void check_square(std::string_view op, const TensorType& type) {
  check_matrices(op, type);
  if (rows_of(type.shape) != columns_of(type.shape)) {
    throw_error<ShapeError>(op, ": matrices must be square, not of shape ", type.shape);
  }
}

void check_stacks(std::string_view op, const TensorType& a, const TensorType& b) {
  check_matrices(op, a);
  check_matrices(op, b);
  check_same_type(op, a, b);
  if (stack_shape(a.shape) != stack_shape(b.shape)) {
    throw_error<ShapeError>(op, ": stacks of shapes ", a.shape, " and ", b.shape, " do not go together");
  }
}

std::int64_t rows_of(const Shape& shape) { return shape[shape.size() - 2]; }
std::int64_t columns_of(const Shape& shape) { return shape.back(); }
Shape stack_shape(const Shape& shape) { return Shape(std::span<const std::int64_t>(shape.data(), shape.size() - 2)); }

Shape extended(Shape shape, std::initializer_list<std::int64_t> lengths) {
  for (const std::int64_t length : lengths) shape.push_back(length);
  return shape;
}

Value matrix_operand(std::string_view op, const Value& value) { return as_floating(given(op, value)); }

std::pair<Value, Value> matrix_operands(std::string_view op, const Value& a, const Value& b) {
  const Value operands[] = {matrix_operand(op, a), matrix_operand(op, b)};
  const DType type = common_type(operands);
  const T left = cast_to(operands[0], type), right = cast_to(operands[1], type);
  for (const T& each : {left, right}) check_matrices(op, TensorType{each.dtype(), each.shape(), false});
  Shape stack;
  try {
    stack = broadcast(op, stack_shape(left.shape()), stack_shape(right.shape()));
  } catch (const ShapeError&) {
    throw_error<ShapeError>(op, ": stacks of shapes ", left.shape(), " and ", right.shape(), " do not go together");
  }
  const auto widened = [&](const T& x) {
    return broadcast_to(x, extended(stack, {rows_of(x.shape()), columns_of(x.shape())}));
  };
  return {widened(left), widened(right)};
}

void refuse_faulty(std::string_view op, const Value& info, std::string_view fault) {
  if (mode_like(info) != Mode::eager) return;
  const Tensor<Eager> numbers = info;
  const std::span<const std::int64_t> found = numbers.data<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == 0) continue;
    if (info.shape().empty()) throw_error<ValueError>(op, ": the matrix ", fault, found[i]);
    throw_error<ValueError>(op, ": matrix ", i, " of the stack of shape ", info.shape(), " ", fault, found[i]);
  }
}

void refuse_unconverged(OpId id, const Value& a, const Value& values) {
  const auto refuse = [&](std::size_t i) {
    const Shape stack = stack_shape(a.shape());
    const Tensor<Eager> matrices = reshape(Tensor<Eager>(a), {-1, rows_of(a.shape()), columns_of(a.shape())});
    Tensor<Eager> matrix = matrices.get({static_cast<std::int64_t>(i)});
    // Above the diagonal may stand anything.
    if (id == OpId::eigh || id == OpId::eigvalsh) matrix = tril(matrix);
    if (!tyto::all(isfinite(matrix)).template item<bool>()) return;
    const std::string_view op = definition(id).name;
    if (stack.empty()) throw_error<ValueError>(op, ": the iteration did not converge for the matrix");
    throw_error<ValueError>(op, ": the iteration did not converge for matrix ", i, " of the stack of shape ", stack);
  };
  switch (values.dtype()) {
    case DType::f32: return for_each_nan<float>(values, refuse);
    case DType::f64: return for_each_nan<double>(values, refuse);
    case DType::c64: return for_each_nan<std::complex<float>>(values, refuse);
    default: return for_each_nan<std::complex<double>>(values, refuse);
  }
}

Value emit_iteration(OpId id, const Attributes& attributes, const std::vector<Value>& operands, std::uint32_t values) {
  const Value found = emit(id, attributes, operands);
  if (mode_like(found) == Mode::eager) {
    refuse_unconverged(id, operands[0], values == 0 ? found : result(found, values));
  }
  return found;
}

T solve_triangle(const Value& triangle, const Value& right, bool upper, bool unit) {
  return emit(OpId::triangular_solve, TriangularAttributes{upper, unit}, {triangle, right});
}

T solve_triangle_right(const Value& left, const Value& triangle, bool upper, bool unit) {
  return matrix_transpose(solve_triangle(matrix_transpose(T(triangle)), matrix_transpose(T(left)), !upper, unit));
}

T solve_lu(const Value& lu, const Value& permutation, const Value& right, bool transposed) {
  return emit(OpId::lu_solve, FactoredAttributes{transposed}, {lu, permutation, right});
}

T adjoint(const T& x) { return conj(matrix_transpose(x)); }

T solve_lu_adjoint(const Value& lu, const Value& permutation, const Value& right) {
  return conj(solve_lu(lu, permutation, conj(T(right)), true));
}

T on_diagonal(const T& x) { return emit(OpId::diag_embed, ListAttributes{{0}}, {x}); }
T diagonal_of(const T& x) { return diagonal(x, 0, -2, -1); }

T identities_like(const T& x) {
  const std::int64_t size = columns_of(x.shape());
  const DType part = real_type(x.dtype());
  const T one =
      cast_to(emit(mode_like(x), OpId::eye, RangeAttributes{{size, size}, part, Scalar(0), Scalar(0)}), x.dtype());
  return broadcast_to(one, extended(stack_shape(x.shape()), {size, size}));
}

Value added(const Value& a, const Value& b) {
  if (!a || !b) return a ? a : b;
  return T(a) + T(b);
}

T number_like(const Value& x, double number) { return scalar_constant(Scalar(number), x.dtype()); }

}  // namespace tyto::core
