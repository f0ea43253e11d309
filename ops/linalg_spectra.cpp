// SPDX-License-Identifier: MIT
// Orthogonal factorisations, eigenvalues and singular values: qr, eigh, svd, and the pseudo-inverse.
#include <algorithm>
#include <limits>

#include "ops/linalg.hpp"
#include "ops/samples.hpp"
#include "tyto/complex.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

bool whole(const Attributes& attributes) { return get<OrthogonalAttributes>(attributes).complete; }

std::vector<TensorType> infer_qr(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_matrices("qr", inputs[0]);
  const Shape& shape = inputs[0].shape;
  const Shape stack = stack_shape(shape);
  if (rows_of(shape) < columns_of(shape)) {
    throw_error<ShapeError>("qr: matrices of shape ", shape, " have more columns than rows");
  }
  const std::int64_t width = whole(attributes) ? rows_of(shape) : columns_of(shape);
  return {TensorType{inputs[0].dtype, extended(stack, {rows_of(shape), width}), false},
          TensorType{inputs[0].dtype, extended(stack, {width, columns_of(shape)}), false}};
}

std::vector<TensorType> infer_eigenvalues(const Attributes&, std::span<const TensorType> inputs) {
  check_square("eigvalsh", inputs[0]);
  return one(real_type(inputs[0].dtype), extended(stack_shape(inputs[0].shape), {rows_of(inputs[0].shape)}));
}

std::vector<TensorType> infer_eigh(const Attributes&, std::span<const TensorType> inputs) {
  check_square("eigh", inputs[0]);
  const DType part = real_type(inputs[0].dtype);
  return {TensorType{part, extended(stack_shape(inputs[0].shape), {rows_of(inputs[0].shape)}), false},
          TensorType{inputs[0].dtype, inputs[0].shape, false}};
}

std::vector<TensorType> infer_svd(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_matrices("svd", inputs[0]);
  const Shape& shape = inputs[0].shape;
  const Shape stack = stack_shape(shape);
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape), least = std::min(rows, columns);
  const DType type = inputs[0].dtype;
  return {TensorType{type, extended(stack, {rows, whole(attributes) ? rows : least}), false},
          TensorType{real_type(type), extended(stack, {least}), false},
          TensorType{type, extended(stack, {whole(attributes) ? columns : least, columns}), false}};
}

std::vector<TensorType> infer_singular_values(const Attributes&, std::span<const TensorType> inputs) {
  check_matrices("svdvals", inputs[0]);
  const Shape& shape = inputs[0].shape;
  return one(real_type(inputs[0].dtype), extended(stack_shape(shape), {std::min(rows_of(shape), columns_of(shape))}));
}

std::vector<TensorType> infer_pinv(const Attributes&, std::span<const TensorType> inputs) {
  check_matrices("pinv", inputs[0]);
  check_same_type("pinv", {real_type(inputs[0].dtype), {}, false}, inputs[1]);
  if (!inputs[1].shape.empty()) {
    throw_error<ShapeError>("pinv: the tolerance must be one number, not of shape ", inputs[1].shape);
  }
  const Shape& shape = inputs[0].shape;
  const Shape stack = stack_shape(shape);
  return {
      TensorType{inputs[0].dtype, extended(stack, {columns_of(shape), rows_of(shape)}), false},
      TensorType{real_type(inputs[0].dtype), extended(stack, {std::min(rows_of(shape), columns_of(shape))}), false}};
}

// gA = (gQ + Q sym(triu(gR R^H - Q^H gQ))) R^-H, where sym adds the adjoint without counting the diagonal twice, which
// is real since R's is.
std::vector<Value> qr_gradient(const GradientContext& c) {
  const Shape& shape = c.inputs[0].shape();
  if (whole(c.attributes) && rows_of(shape) > columns_of(shape)) {
    throw_error<ValueError>("qr: complete factors of matrices of shape ", shape,
                            " have no gradient, since the last columns of q are not determined; take reduced ones");
  }
  const T q = c.results[0], r = c.results[1];
  Value inner;
  if (c.gradients[1]) inner = matmul(T(c.gradients[1]), adjoint(r));
  if (c.gradients[0]) inner = added(inner, -matmul(adjoint(q), T(c.gradients[0])));
  const T upper = triu(T(inner));
  T left = matmul(q, triu(upper, 1) + adjoint(triu(upper, 1)) + on_diagonal(real(diagonal_of(upper))));
  if (c.gradients[0]) left = left + T(c.gradients[0]);
  return {solve_triangle_right(left, adjoint(r), false)};
}

/// x[j] - x[i] for all pairs; ones on the diagonal, where nothing is divided by it.
T differences(const T& x) { return expand_dims(x, -2) - expand_dims(x, -1) + on_diagonal(ones_like(x)); }

std::vector<Value> eigenvalue_gradient(const GradientContext& c) {
  const T vectors = result(emit_iteration(OpId::eigh, NoAttributes{}, {c.inputs[0]}), 1);
  return {matmul(vectors * expand_dims(T(c.gradients[0]), -2), adjoint(vectors))};
}

// gA = V (diag(gw) + (V^H gV) / (w_j - w_i)) V^H, without what turns the vectors among equal values.
std::vector<Value> eigh_gradient(const GradientContext& c) {
  const T values = c.results[0], vectors = c.results[1];
  if (!c.gradients[1]) {
    return {matmul(vectors * expand_dims(T(c.gradients[0]), -2), adjoint(vectors))};
  }
  const T turn = matmul(adjoint(vectors), T(c.gradients[1]));
  T inner = (turn - on_diagonal(diagonal_of(turn))) / differences(values);
  if (c.gradients[0]) inner = inner + on_diagonal(T(c.gradients[0]));
  return {matmul(matmul(vectors, inner), adjoint(vectors))};
}

std::vector<Value> singular_value_gradient(const GradientContext& c) {
  const Value u = emit_iteration(OpId::svd, OrthogonalAttributes{}, {c.inputs[0]}, 1);
  return {matmul(T(u) * expand_dims(T(c.gradients[0]), -2), T(result(u, 2)))};
}

// gA = U ((skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gs)) V^H with E_ij = s_j^2 - s_i^2, and what leaves the
// columns' span: (1 - U U^H) gU S^-1 V^H, and the same of V. Of complex matrices the diagonal of skew(U^H gU), which is
// imaginary, counts by 1 / 2s: it turns U against V, while the phase of both is of no importance to the objective.
std::vector<Value> svd_gradient(const GradientContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape), least = std::min(rows, columns);
  if (whole(c.attributes) && rows != columns && (c.gradients[0] || c.gradients[2])) {
    throw_error<ValueError>("svd: complete factors of matrices of shape ", shape,
                            " have no gradient, since the last vectors are not determined; take reduced ones");
  }
  // By the values alone; with reduced factors, since the others have no gradient and this one shall.
  if (!c.gradients[0] && !c.gradients[2]) {
    const bool undetermined = whole(c.attributes) && rows != columns;
    const Value u = undetermined ? emit_iteration(OpId::svd, OrthogonalAttributes{}, {c.inputs[0]}, 1) : c.results[0];
    const T vh = undetermined ? result(u, 2) : c.results[2];
    return {matmul(T(u) * expand_dims(T(c.gradients[1]), -2), vh)};
  }
  const T u = c.results[0], s = c.results[1], vh = c.results[2];
  const T across = expand_dims(s, -2), down = expand_dims(s, -1);
  const T apart = differences(s) * (across + down + on_diagonal(ones_like(s)));
  const auto skew = [](const T& x) { return x - adjoint(x); };
  const auto off_diagonal = [&](const T& x) { return (x - on_diagonal(diagonal_of(x))) / apart; };
  Value inner, beyond;
  if (c.gradients[1]) inner = on_diagonal(T(c.gradients[1]));
  if (c.gradients[0]) {
    const T gradient = c.gradients[0], within = matmul(adjoint(u), gradient);
    inner = added(inner, off_diagonal(skew(within)) * across);
    if (is_complex(u.dtype())) inner = T(inner) + on_diagonal(diagonal_of(skew(within)) / (2.0 * s));
    if (rows > least) beyond = matmul((gradient - matmul(u, within)) / across, vh);
  }
  if (c.gradients[2]) {
    const T gradient = c.gradients[2], within = matmul(vh, adjoint(gradient));
    inner = added(inner, off_diagonal(skew(within)) * down);
    if (columns > least) {
      beyond = added(beyond, matmul(u, (gradient - matmul(adjoint(within), vh)) / down));
    }
  }
  return {added(matmul(matmul(u, T(inner)), vh), beyond)};
}

// Golub and Pereyra: dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, while the rank stays.
std::vector<Value> pinv_gradient(const GradientContext& c) {
  const T a = c.inputs[0], p = c.results[0];
  Value total;
  if (c.gradients[0]) {
    const T g = c.gradients[0], pt = adjoint(p), gt = adjoint(g);
    const T beside = gt - matmul(matmul(gt, p), a), above = gt - matmul(a, matmul(p, gt));
    total = matmul(above, matmul(p, pt)) + matmul(matmul(pt, p), beside) - matmul(pt, matmul(g, pt));
  }
  if (c.gradients[1]) {
    const Value u = emit_iteration(OpId::svd, OrthogonalAttributes{}, {a}, 1);
    total = added(total, matmul(T(u) * expand_dims(T(c.gradients[1]), -2), T(result(u, 2))));
  }
  return {total, Value()};
}

}  // namespace

std::span<const OpDef> linalg_spectrum_operators() {
  static const OpDef rows[] = {
      {.id = OpId::qr,
       .doc = "Orthonormal columns and an upper triangle.",
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_qr,
       .gradient = qr_gradient,
       .sample = [](DType t) -> Value { return linalg::qr(samples::square_matrix(t)).q; }},
      {.id = OpId::eigh,
       .doc = "Eigenvalues and eigenvectors of a symmetric or Hermitian matrix.",
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_eigh,
       .gradient = eigh_gradient,
       .sample = [](DType t) -> Value { return linalg::eigh(samples::square_matrix(t)).vectors; }},
      {.id = OpId::eigvalsh,
       .doc = "Eigenvalues of a symmetric or Hermitian matrix.",
       .traits = traits(Traits::takes_complex),
       .infer = infer_eigenvalues,
       .gradient = eigenvalue_gradient,
       .sample = [](DType t) -> Value { return linalg::eigvalsh(samples::square_matrix(t)); }},
      {.id = OpId::svd,
       .doc = "Singular values and vectors.",
       .results = 3,
       .traits = traits(Traits::takes_complex),
       .infer = infer_svd,
       .gradient = svd_gradient,
       .sample = [](DType t) -> Value { return linalg::svd(samples::square_matrix(t)).u; }},
      {.id = OpId::svdvals,
       .doc = "Singular values.",
       .traits = traits(Traits::takes_complex),
       .infer = infer_singular_values,
       .gradient = singular_value_gradient,
       .sample = [](DType t) -> Value { return linalg::svdvals(samples::square_matrix(t)); }},
      {.id = OpId::pinv,
       .doc = "The pseudo-inverse, and the singular values.",
       .min_inputs = 2,
       .max_inputs = 2,
       .results = 2,
       .traits = traits(Traits::takes_complex),
       .infer = infer_pinv,
       .gradient = pinv_gradient,
       .sample = [](DType t) -> Value { return linalg::pinv(samples::square_matrix(t)); }},
  };
  return rows;
}

namespace {

double default_tolerance(const Value& a) {
  const double epsilon = real_type(a.dtype()) == DType::f64
                             ? std::numeric_limits<double>::epsilon()
                             : static_cast<double>(std::numeric_limits<float>::epsilon());
  return epsilon * static_cast<double>(std::max(rows_of(a.shape()), columns_of(a.shape())));
}

Value pseudo_inverse(std::string_view op, const Value& a, std::optional<double> rtol) {
  check_matrices(op, TensorType{a.dtype(), a.shape(), false});
  const Value tolerance = scalar_constant(Scalar(rtol.value_or(default_tolerance(a))), real_type(a.dtype()));
  return emit_iteration(OpId::pinv, NoAttributes{}, {a, tolerance}, 1);
}

/// How many of the descending values are above the tolerance.
T rank_of(const T& values, double tolerance) {
  if (values.shape().back() == 0) return sum(cast(values, DType::i64), -1);
  const T largest = part_along(values, values.shape().size() - 1, 0, 1);
  return sum(cast(greater(values, largest * tolerance), DType::i64), -1);
}

}  // namespace

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

using core::emit;
using core::OpId;

// The first columns of a wide matrix determine q.
template <class M>
QR<M> qr(const Tensor<M>& a, Columns columns) {
  TYTO_ONCE(qr, a, columns);
  const Tensor<M> x = core::matrix_operand("qr", a);
  core::check_matrices("qr", core::TensorType{x.dtype(), x.shape(), false});
  const std::int64_t rows = core::rows_of(x.shape()), width = core::columns_of(x.shape());
  const core::OrthogonalAttributes attributes{columns == Columns::complete && rows > width};
  if (rows >= width) {
    const Value q = emit(OpId::qr, attributes, {x});
    return {q, core::result(q, 1)};
  }
  const auto axis = static_cast<std::size_t>(x.ndim() - 1);
  const Tensor<M> q = emit(OpId::qr, attributes, {core::part_along(x, axis, 0, rows)});
  const Tensor<M> rest =
      matmul(Tensor<M>(Value(core::adjoint(Value(q)))), Tensor<M>(core::part_along(x, axis, rows, width - rows)));
  return {q, concat(std::vector<Tensor<M>>{Tensor<M>(core::result(q, 1)), rest}, -1)};
}

template <class M>
SVD<M> svd(const Tensor<M>& a, Columns columns) {
  TYTO_ONCE(svd, a, columns);
  const core::OrthogonalAttributes attributes{columns == Columns::complete};
  const Value u = core::emit_iteration(OpId::svd, attributes, {core::matrix_operand("svd", a)}, 1);
  return {u, core::result(u, 1), core::result(u, 2)};
}

template <class M>
Tensor<M> svdvals(const Tensor<M>& a) {
  return core::emit_iteration(OpId::svdvals, core::NoAttributes{}, {core::matrix_operand("svdvals", a)});
}

template <class M>
Eigh<M> eigh(const Tensor<M>& a) {
  const Value values = core::emit_iteration(OpId::eigh, core::NoAttributes{}, {core::matrix_operand("eigh", a)});
  return {values, core::result(values, 1)};
}

template <class M>
Tensor<M> eigvalsh(const Tensor<M>& a) {
  return core::emit_iteration(OpId::eigvalsh, core::NoAttributes{}, {core::matrix_operand("eigvalsh", a)});
}

template <class M>
Tensor<M> pinv(const Tensor<M>& a, std::optional<double> rtol) {
  return core::pseudo_inverse("pinv", core::matrix_operand("pinv", a), rtol);
}

template <class M>
Tensor<M> matrix_rank(const Tensor<M>& a, std::optional<double> rtol) {
  TYTO_ONCE(matrix_rank, a, rtol);
  const Tensor<M> x = core::matrix_operand("matrix_rank", a);
  core::check_matrices("matrix_rank", core::TensorType{x.dtype(), x.shape(), false});
  return Value(core::rank_of(Value(svdvals(x)), rtol.value_or(core::default_tolerance(x))));
}

template <class M>
LeastSquares<M> lstsq(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::optional<double> rtol) {
  TYTO_ONCE(lstsq, a, b, rtol);
  const Tensor<M> right = core::matrix_operand("lstsq", b);
  if (right.ndim() == 0) throw ShapeError("lstsq: a right-hand side needs an axis, but it is a number");
  const bool vector = right.ndim() == 1;
  const auto [left, columns] = core::matrix_operands("lstsq", a, vector ? expand_dims(right, -1) : right);
  if (core::rows_of(left.shape()) != core::rows_of(columns.shape())) {
    core::throw_error<ShapeError>("lstsq: a right-hand side of shape ", right.shape(), " does not have the rows of ",
                                  a.shape());
  }
  const double tolerance = rtol.value_or(core::default_tolerance(left));
  const Value inverse = core::pseudo_inverse("lstsq", left, tolerance);
  const Tensor<M> values = core::result(inverse, 1);
  const Tensor<M> x = matmul(Tensor<M>(inverse), Tensor<M>(columns));
  const Tensor<M> rest = matmul(Tensor<M>(left), x) - Tensor<M>(columns);
  const Tensor<M> residuals =
      sum(is_complex(rest.dtype()) ? square(real(rest)) + square(imag(rest)) : square(rest), -2);
  return {vector ? squeeze(x, -1) : x, vector ? squeeze(residuals, -1) : residuals,
          Value(core::rank_of(Value(values), tolerance)), values};
}

TYTO_INSTANTIATE_LINALG(qr)
TYTO_INSTANTIATE_LINALG(svd)
TYTO_INSTANTIATE_LINALG(svdvals)
TYTO_INSTANTIATE_LINALG(eigh)
TYTO_INSTANTIATE_LINALG(eigvalsh)
TYTO_INSTANTIATE_LINALG(pinv)
TYTO_INSTANTIATE_LINALG(matrix_rank)
TYTO_INSTANTIATE_LINALG(lstsq)

}  // namespace TYTO_API
}  // namespace tyto
