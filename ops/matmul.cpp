// SPDX-License-Identifier: MIT
// The matrix product: operands brought to a common batch shape, gradients by transposed products.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/planned.hpp"
#include "ops/samples.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_matmul(const Attributes&, std::span<const TensorType> inputs) {
  check_same_type("matmul", inputs[0], inputs[1]);
  Shape shape = inputs[0].shape;
  const Shape& right = inputs[1].shape;
  const std::size_t rank = shape.size();
  bool fits = rank >= 2 && right.size() == rank && shape[rank - 1] == right[rank - 2];
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) fits = shape[i] == right[i];
  if (!fits) throw_error<ShapeError>("matmul: ", shape, " x ", right, " are no stacks of matrices that fit each other");
  shape[rank - 1] = right.back();
  return one(inputs[0].dtype, shape);
}

std::vector<Value> matmul_gradient(const GradientContext& c) {
  const T a = c.inputs[0], b = c.inputs[1], g = c.gradients[0];
  return {c.needed[0] ? Value(matmul(g, matrix_transpose(b))) : Value(),
          c.needed[1] ? Value(matmul(matrix_transpose(a), g)) : Value()};
}

// A complex product is a real one of matrices twice as wide and twice as tall: the left operand's parts lie beside each
// other as they are; each row of the right one becomes two, the row and i times the row, their parts beside each other.
T complex_matmul(const T& left, const T& right) {
  const T rows = T(as_parts(left));
  const Shape wide = right.shape();
  const auto last = static_cast<std::int64_t>(wide.size());
  const T turned = stack<Any>({right, right * Scalar::complex(0, 1)}, last - 1);
  Shape left_shape = left.shape(), right_shape = wide;
  left_shape[left_shape.size() - 1] *= 2;
  for (std::size_t axis = wide.size() - 2; axis < wide.size(); ++axis) right_shape[axis] *= 2;
  const T product =
      emit(OpId::matmul, NoAttributes{}, {reshape(rows, left_shape), reshape(T(as_parts(turned)), right_shape)});
  Shape parts = product.shape();
  parts[parts.size() - 1] /= 2;
  parts.push_back(2);
  return of_parts(reshape(product, parts));
}

// The parts of the vectors are matrices of two columns as they lie. Their product has two rows, which as complex
// numbers are the sums of the left real and imaginary parts times the right vector.
T dots_of_parts(const T& left, const T& right, bool conjugated) {
  if (const Value planned = core::planned(&dots_of_parts, left, right, conjugated)) return planned;
  const auto columns = [](const T& x, std::int64_t axis) { return squeeze(T(as_parts(x)), axis); };
  const Value products = emit(OpId::matmul, NoAttributes{}, {matrix_transpose(columns(left, -3)), columns(right, -2)});
  const Value sums = of_parts(products);
  const std::size_t axis = sums.shape().size() - 1;
  const T real = part_along(sums, axis, 0, 1), imaginary = part_along(sums, axis, 1, 1);
  return expand_dims(real + imaginary * Scalar::complex(0, conjugated ? -1 : 1), -1);
}

/// The product of two stacks of matrices that fit each other.
Value product_of(const Value& left, const Value& right) {
  if (is_complex(left.dtype())) {
    const bool dots = left.shape()[left.shape().size() - 2] == 1 && right.shape().back() == 1;
    return dots ? complex_dots(left, right, false) : Value(complex_matmul(left, right));
  }
  return emit(OpId::matmul, NoAttributes{}, {left, right});
}

}  // namespace

Value complex_dots(const Value& left, const Value& right, bool conjugated) {
  return dots_of_parts(left, right, conjugated);
}

std::span<const OpDef> matmul_operators() {
  static const OpDef rows[] = {
      {.id = OpId::matmul,
       .doc = "Matrix product.",
       .min_inputs = 2,
       .max_inputs = 2,
       .traits = traits(Traits::bilinear),
       .infer = infer_matmul,
       .gradient = matmul_gradient,
       .sample = [](DType t) -> Value { return matmul(samples::square_matrix(t), samples::square_matrix(t)); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> matmul(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(matmul, a, b);
  core::require("matmul", a, b);
  if (a.ndim() == 0 || b.ndim() == 0) {
    core::throw_error<ShapeError>("matmul: operands need at least one axis: ", a.shape(), " x ", b.shape(),
                                  "; use * for a number");
  }
  const Value operands[] = {a, b};
  const DType type = core::common_type(operands);
  Tensor<M> left = core::cast_to(a, type);
  Tensor<M> right = core::cast_to(b, type);
  if (a.ndim() == 1) left = reshape(left, {1, a.size()});
  if (b.ndim() == 1) right = reshape(right, {b.size(), 1});
  const auto rows = left.shape()[left.shape().size() - 2];
  const auto columns = right.shape().back();
  if (left.shape().back() != right.shape()[right.shape().size() - 2]) {
    core::throw_error<ShapeError>("matmul: inner sizes differ: ", a.shape(), " x ", b.shape());
  }
  const auto batch_of = [](const Shape& shape) {
    return Shape(std::span<const std::int64_t>(shape.data(), shape.size() - 2));
  };
  const auto with_batch = [](const Shape& batch, std::int64_t m, std::int64_t n) {
    Shape shape = batch;
    shape.push_back(m);
    shape.push_back(n);
    return shape;
  };
  const std::int64_t inner = left.shape().back();
  // A stack of matrices times one matrix is one product of tall matrices.
  Tensor<M> product;
  Shape batch;
  try {
    batch = core::broadcast("matmul", batch_of(left.shape()), batch_of(right.shape()));
  } catch (const ShapeError&) {
    core::throw_error<ShapeError>("matmul: batch axes do not broadcast: ", a.shape(), " x ", b.shape());
  }
  if (right.ndim() == 2 && left.ndim() > 2) {
    const Tensor<M> tall = reshape(left, {element_count(batch) * rows, inner});
    product = core::product_of(tall, right);
    product = reshape(product, with_batch(batch, rows, columns));
  } else {
    left = broadcast_to(left, with_batch(batch, rows, inner));
    right = broadcast_to(right, with_batch(batch, inner, columns));
    product = core::product_of(left, right);
  }
  if (a.ndim() == 1) product = squeeze(product, -2);
  if (b.ndim() == 1) product = squeeze(product, -1);
  return product;
}
TYTO_INSTANTIATE(matmul)

}  // namespace TYTO_API
