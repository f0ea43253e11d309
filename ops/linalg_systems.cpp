// SPDX-License-Identifier: MIT
// Systems of equations by LU with partial pivoting: lu_factor, lu_solve, solve, inv, det.
#include "ops/linalg.hpp"
#include "ops/samples.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_lu_factor(const Attributes&, std::span<const TensorType> inputs) {
  check_matrices("lu_factor", inputs[0]);
  const Shape& shape = inputs[0].shape;
  const Shape stack = stack_shape(shape);
  return {TensorType{inputs[0].dtype, shape, false},
          TensorType{DType::i64, extended(stack, {std::min(rows_of(shape), columns_of(shape))}), false},
          TensorType{DType::i64, extended(stack, {rows_of(shape)}), false}};
}

void check_right_side(std::string_view op, const TensorType& a, const TensorType& b) {
  check_square(op, a);
  check_stacks(op, a, b);
  if (rows_of(b.shape) != rows_of(a.shape)) {
    throw_error<ShapeError>(op, ": a right-hand side of shape ", b.shape, " does not have the rows of ", a.shape);
  }
}

std::vector<TensorType> infer_lu_solve(const Attributes&, std::span<const TensorType> inputs) {
  check_right_side("lu_solve", inputs[0], inputs[2]);
  const Shape order = extended(stack_shape(inputs[0].shape), {rows_of(inputs[0].shape)});
  if (inputs[1].dtype != DType::i64 || inputs[1].shape != order) {
    throw_error<ShapeError>("lu_solve: a permutation of shape ", inputs[1].shape, " in ", inputs[1].dtype,
                            "; it must be of shape ", order, " in i64");
  }
  return one(inputs[2].dtype, inputs[2].shape);
}

std::vector<TensorType> infer_solve(const Attributes&, std::span<const TensorType> inputs) {
  check_right_side("solve", inputs[0], inputs[1]);
  const Shape& shape = inputs[0].shape;
  const Shape stack = stack_shape(shape);
  return {TensorType{inputs[1].dtype, inputs[1].shape, false}, TensorType{inputs[0].dtype, shape, false},
          TensorType{DType::i64, extended(stack, {rows_of(shape)}), false}, TensorType{DType::i64, stack, false}};
}

std::vector<TensorType> infer_inv(const Attributes&, std::span<const TensorType> inputs) {
  check_square("inv", inputs[0]);
  return {TensorType{inputs[0].dtype, inputs[0].shape, false},
          TensorType{DType::i64, stack_shape(inputs[0].shape), false}};
}

std::vector<TensorType> infer_det(const Attributes&, std::span<const TensorType> inputs) {
  check_square("det", inputs[0]);
  const Shape stack = stack_shape(inputs[0].shape), line = extended(stack, {rows_of(inputs[0].shape)});
  return {TensorType{inputs[0].dtype, stack, false}, TensorType{inputs[0].dtype, inputs[0].shape, false},
          TensorType{DType::i64, line, false}, TensorType{DType::i64, line, false}};
}

/// The rows that the permutation names.
T permuted(const Value& permutation, const T& rows) {
  return take_along_axis(rows, expand_dims(T(permutation), -1), rows.ndim() - 2);
}
/// Rows put back where the factorisation took them from.
T unpermuted(const Value& permutation, const T& rows) { return permuted(argsort(T(permutation), -1), rows); }

// A gradient by L and U, of which one triangle each counts, as one by A. P A = L U, so that dL and dU are the lower and
// the upper part of L^-1 P dA U^-1, multiplied by L from the left and by U from the right. The part beyond the square
// follows from it: U2 = L^-1 P A2, L2 = A2 U^-1.
T lu_gradient(const T& lu, const Value& permutation, const T& gradient) {
  const std::int64_t rows = rows_of(lu.shape()), columns = columns_of(lu.shape());
  const std::int64_t square = std::min(rows, columns);
  const auto row_axis = static_cast<std::size_t>(lu.ndim() - 2), column_axis = row_axis + 1;
  const T both = part_along(part_along(lu, row_axis, 0, square), column_axis, 0, square);
  const T core = part_along(part_along(gradient, row_axis, 0, square), column_axis, 0, square);
  const T ones = identities_like(both);
  const T lower = tril(both, -1) + ones, upper = triu(both);
  T by_lower = tril(core, -1), by_upper = triu(core);
  T beside;
  if (columns > rows) {
    const T wide = part_along(lu, column_axis, square, columns - square);
    beside = solve_triangle(adjoint(lower), T(part_along(gradient, column_axis, square, columns - square)), true, true);
    by_lower = by_lower - tril(matmul(beside, adjoint(wide)), -1);
  } else if (rows > columns) {
    const T tall = part_along(lu, row_axis, square, rows - square);
    beside = solve_triangle_right(T(part_along(gradient, row_axis, square, rows - square)), adjoint(upper), false);
    by_upper = by_upper - triu(matmul(adjoint(tall), beside));
  }
  const T inner = tril(matmul(adjoint(lower), by_lower), -1) + triu(matmul(by_upper, adjoint(upper)));
  T outer = solve_triangle(adjoint(lower), solve_triangle_right(inner, adjoint(upper), false), true, true);
  if (columns > rows) outer = concat(std::vector<T>{outer, beside}, -1);
  if (rows > columns) outer = concat(std::vector<T>{outer, beside}, -2);
  return unpermuted(permutation, outer);
}

std::vector<Value> lu_factor_gradient(const GradientContext& c) {
  if (!c.gradients[0]) return {Value()};
  return {lu_gradient(c.results[0], c.results[2], c.gradients[0])};
}

// b's gradient is what the adjoint system makes of x's. With P A = L U and that gradient g, the one by A is -g x^H, so
// that L takes the lower part of P (-g x^H) U^H and U the upper part of L^H P (-g x^H). The transposed system has
// conj(x) and conj(g) in turned places.
std::vector<Value> lu_solve_gradient(const GradientContext& c) {
  const bool transposed = get<FactoredAttributes>(c.attributes).transposed;
  const T lu = c.inputs[0], x = c.results[0], gradient = c.gradients[0];
  const Value& permutation = c.inputs[1];
  const T by_right =
      transposed ? conj(solve_lu(lu, permutation, conj(gradient), false)) : solve_lu_adjoint(lu, permutation, gradient);
  if (!c.needed[0]) return {Value(), Value(), by_right};
  const T lower = tril(lu, -1) + identities_like(lu), upper = triu(lu);
  const T left = permuted(permutation, transposed ? conj(x) : by_right);
  const T right = transposed ? conj(by_right) : x;
  const T by_lower = matmul(left, adjoint(matmul(upper, right)));
  const T by_upper = matmul(matmul(adjoint(lower), left), adjoint(right));
  return {-(tril(by_lower, -1) + triu(by_upper)), Value(), by_right};
}

std::vector<Value> solve_gradient(const GradientContext& c) {
  const T x = c.results[0], lu = c.results[1];
  const Value& permutation = c.results[2];
  Value by_matrix, by_right;
  if (c.gradients[0]) {
    by_right = solve_lu_adjoint(lu, permutation, c.gradients[0]);
    if (c.needed[0]) by_matrix = -matmul(T(by_right), adjoint(x));
  }
  if (c.gradients[1] && c.needed[0]) {
    by_matrix = added(by_matrix, lu_gradient(lu, permutation, c.gradients[1]));
  }
  return {by_matrix, by_right};
}

std::vector<Value> inv_gradient(const GradientContext& c) {
  if (!c.gradients[0]) return {Value()};
  const T turned = adjoint(T(c.results[0]));
  return {-matmul(turned, matmul(T(c.gradients[0]), turned))};
}

/// 1 or -1 for an even or odd number of exchanges.
T sign_of(const T& pivots, DType dtype) {
  const std::int64_t count = pivots.shape().back();
  const T still = arange_like(pivots, count);
  return cast(1 - 2 * (sum(cast(not_equal(pivots, still), DType::i64), -1) % 2), dtype);
}

/// The number added to zero pivots, which the matrix does not determine: so much less than the others that its part of
/// the matrix of cofactors is lost in their rounding.
T in_place_of_zeros(const T& pivots) {
  const bool is_double = real_type(pivots.dtype()) == DType::f64;
  const double epsilon = is_double ? 2.220446049250313e-16 : 1.1920928955078125e-07, most = is_double ? 1e300 : 1e30;
  const T sizes = abs(pivots), zero = equal(sizes, number_like(sizes, 0));
  const T least = min(where(zero, number_like(sizes, most), sizes), -1, true);
  const T shift =
      number_like(sizes, epsilon) * where(less(least, number_like(least, most)), least, number_like(least, 1));
  return cast(where(zero, shift, number_like(sizes, 0)), pivots.dtype());
}

// The matrix of cofactors: the determinant times the inverse, both conjugated, transposed. Of a singular matrix it is
// the limit for zero pivots that become very small ones, which is exact to the last digits where one is zero.
std::vector<Value> det_gradient(const GradientContext& c) {
  const T lu = c.results[1];
  Value total;
  if (c.gradients[0]) {
    const T line = diagonal_of(lu), zero = equal(line, number_like(line, 0)), one = number_like(line, 1);
    const T shift = line.size() == 0 ? line : in_place_of_zeros(line);
    // Replaced zeros are divided out before the other pivots are multiplied: their product may overflow.
    const T absent = prod(where(zero, line + shift, one), -1);
    const T present = prod(where(zero, one, line), -1) * sign_of(c.results[2], lu.dtype());
    const T cofactors = solve_lu_adjoint(lu + on_diagonal(shift), c.results[3],
                                         identities_like(lu) * expand_dims(conj(absent), {-2, -1}));
    total = cofactors * expand_dims(T(c.gradients[0]) * conj(present), {-2, -1});
  }
  if (c.gradients[1]) {
    total = added(total, lu_gradient(lu, c.results[3], c.gradients[1]));
  }
  return {total};
}

}  // namespace

std::span<const OpDef> linalg_system_operators() {
  static const OpDef rows[] = {
      {.id = OpId::lu_factor,
       .doc = "LU with partial pivoting: both factors in one matrix, pivots, permutation.",
       .results = 3,
       .traits = traits(Traits::takes_complex),
       .infer = infer_lu_factor,
       .gradient = lu_factor_gradient,
       .sample = [](DType t) -> Value { return linalg::lu_factor(samples::square_matrix(t)).lu; }},
      {.id = OpId::lu_solve,
       .doc = "The solution of a system whose matrix, or its transpose, is factorised.",
       .min_inputs = 3,
       .max_inputs = 3,
       .traits = traits(Traits::takes_complex),
       .infer = infer_lu_solve,
       .gradient = lu_solve_gradient,
       .sample = [](DType t) -> Value {
         return linalg::lu_solve(linalg::lu_factor(samples::square_matrix(t)), samples::square_matrix(t));
       }},
      {.id = OpId::solve,
       .doc = "The solution of a system; the factors of its matrix; which pivot is zero.",
       .min_inputs = 2,
       .max_inputs = 2,
       .results = 4,
       .traits = traits(Traits::takes_complex),
       .infer = infer_solve,
       .gradient = solve_gradient,
       .sample = [](DType t) -> Value { return linalg::solve(samples::square_matrix(t), samples::square_matrix(t)); }},
      {.id = OpId::inv,
       .doc = "The inverse; which pivot is zero.",
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_inv,
       .gradient = inv_gradient,
       .sample = [](DType t) -> Value { return linalg::inv(samples::square_matrix(t)); }},
      {.id = OpId::det,
       .doc = "The determinant; the factors.",
       .results = 4,
       .traits = traits(Traits::takes_complex),
       .infer = infer_det,
       .gradient = det_gradient,
       .sample = [](DType t) -> Value { return linalg::det(samples::square_matrix(t)); }},
  };
  return rows;
}

namespace {

constexpr std::string_view singular = "is singular: it has no pivot in column ";

}  // namespace

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Checked<M> solve_ex(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(solve_ex, a, b);
  Value info;
  const Value x = core::with_columns("solve", a, b, [&](const Value& left, const Value& right) {
    const Value found = emit(OpId::solve, core::NoAttributes{}, {left, right});
    info = core::result(found, 3);
    return found;
  });
  return {x, info};
}

template <class M>
Tensor<M> solve(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(solve, a, b);
  const auto [x, info] = solve_ex(a, b);
  core::refuse_faulty("solve", info, core::singular);
  return x;
}

template <class M>
Checked<M> inv_ex(const Tensor<M>& a) {
  TYTO_ONCE(inv_ex, a);
  const Value found = emit(OpId::inv, core::NoAttributes{}, {core::matrix_operand("inv", a)});
  return {found, core::result(found, 1)};
}

template <class M>
Tensor<M> inv(const Tensor<M>& a) {
  TYTO_ONCE(inv, a);
  const auto [x, info] = inv_ex(a);
  core::refuse_faulty("inv", info, core::singular);
  return x;
}

template <class M>
Tensor<M> det(const Tensor<M>& a) {
  return emit(OpId::det, core::NoAttributes{}, {core::matrix_operand("det", a)});
}

template <class M>
LUFactor<M> lu_factor(const Tensor<M>& a) {
  TYTO_ONCE(lu_factor, a);
  const Value found = emit(OpId::lu_factor, core::NoAttributes{}, {core::matrix_operand("lu_factor", a)});
  return {found, core::result(found, 1), core::result(found, 2)};
}

template <class M>
SignLogDet<M> slogdet(const Tensor<M>& a) {
  TYTO_ONCE(slogdet, a);
  const Value operand = core::matrix_operand("slogdet", a);
  core::check_square("slogdet", core::TensorType{operand.dtype(), operand.shape(), false});
  const auto [lu, pivots, permutation] = lu_factor(Tensor<M>(operand));
  const Tensor<M> line = tyto::diagonal(lu, 0, -2, -1);
  const Tensor<M> even = Value(core::sign_of(Value(pivots), lu.dtype()));
  return {prod(sign(line), -1) * even, sum(log(abs(line)), -1)};
}

template <class M>
LU<M> lu(const Tensor<M>& a) {
  TYTO_ONCE(lu, a);
  const auto [both, pivots, permutation] = lu_factor(a);
  const std::int64_t rows = core::rows_of(both.shape()), columns = core::columns_of(both.shape());
  const std::int64_t square = std::min(rows, columns);
  const auto axis = static_cast<std::size_t>(both.ndim() - 2);
  const Tensor<M> narrow = core::part_along(both, axis + 1, 0, square), low = core::part_along(both, axis, 0, square);
  const DType part = real_type(both.dtype());
  const Tensor<M> ones =
      emit(core::mode_like(both), OpId::eye, core::RangeAttributes{{rows, square}, part, Scalar(0), Scalar(0)});
  const Tensor<M> order = cast(one_hot(permutation, rows, part), both.dtype());
  return {matrix_transpose(order), tril(narrow, -1) + ones, triu(low)};
}

template <class M>
Tensor<M> lu_solve(const LUFactor<M>& factor, const std::type_identity_t<Tensor<M>>& b, Flag transposed) {
  TYTO_ONCE(lu_solve, factor, b, transposed);
  core::require("lu_solve", factor.lu, factor.pivots, factor.permutation);
  return core::with_columns("lu_solve", factor.lu, b, [&](const Value& lu, const Value& right) {
    const Shape order = core::extended(core::stack_shape(lu.shape()), {core::rows_of(lu.shape())});
    return Value(core::solve_lu(lu, broadcast_to(factor.permutation, order), right, transposed));
  });
}

TYTO_INSTANTIATE_LINALG(solve_ex)
TYTO_INSTANTIATE_LINALG(solve)
TYTO_INSTANTIATE_LINALG(inv_ex)
TYTO_INSTANTIATE_LINALG(inv)
TYTO_INSTANTIATE_LINALG(det)
TYTO_INSTANTIATE_LINALG(lu_factor)
TYTO_INSTANTIATE_LINALG(slogdet)
TYTO_INSTANTIATE_LINALG(lu)
TYTO_INSTANTIATE_LINALG(lu_solve)

}  // namespace TYTO_API
}  // namespace tyto
