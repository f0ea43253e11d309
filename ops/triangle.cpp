// SPDX-License-Identifier: MIT
// Diagonals and triangles of matrices: diag, tril, triu.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

constexpr std::int64_t largest_offset = std::int64_t{1} << 32;

std::vector<TensorType> infer_diag_embed(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (get<ListAttributes>(attributes).list.size() != 1) throw ShapeError("diag: one diagonal is needed");
  const std::int64_t offset = get<ListAttributes>(attributes).list[0];
  Shape shape = inputs[0].shape;
  if (shape.empty()) throw ShapeError("diag: a 0-d tensor has no axis to be a diagonal");
  if (offset < -largest_offset || offset > largest_offset) {
    throw_error<ValueError>("diag: diagonal ", offset, " is farther out than any matrix reaches");
  }
  const std::int64_t side = shape.back() + std::abs(offset);
  shape.pop_back();
  shape.push_back(side);
  shape.push_back(side);
  return one(inputs[0].dtype, shape);
}

std::vector<Value> diag_embed_gradient(const GradientContext& c) {
  return {diagonal(T(c.gradients[0]), get<ListAttributes>(c.attributes).list[0], -2, -1)};
}

// Every row (or column) of the square is the padded vector, of which the diagonal shows one element each.
std::vector<Value> lower_diag_embed(const Attributes& attributes, std::span<const Value> inputs) {
  const std::int64_t offset = get<ListAttributes>(attributes).list[0];
  const T x = inputs[0];
  const std::int64_t side = x.shape().back() + std::abs(offset);
  IntList none(x.shape().size(), 0), after = none;
  after[after.size() - 1] = std::abs(offset);
  const T spread = expand_dims(pad(x, none, after), offset >= 0 ? -1 : -2);
  const T chosen =
      emit(mode_like(x), OpId::eye, RangeAttributes{{side, side}, DType::boolean, Scalar(offset), Scalar(0)});
  return {where(chosen, spread, scalar_constant(0, x.dtype()))};
}

std::vector<TensorType> infer_triangle(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (get<ListAttributes>(attributes).list.size() != 1) throw ShapeError("tril/triu: one diagonal is needed");
  if (inputs[0].shape.size() < 2) {
    throw_error<ShapeError>("tril/triu: a triangle needs rank 2 or more, not shape ", inputs[0].shape);
  }
  return one(inputs[0].dtype, inputs[0].shape);
}

template <OpId id>
std::vector<Value> triangle_gradient(const GradientContext& c) {
  return {emit(id, get<ListAttributes>(c.attributes), {c.gradients[0]})};
}

template <OpId id>
std::vector<Value> lower_triangle(const Attributes& attributes, std::span<const Value> inputs) {
  const T x = inputs[0];
  const std::int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back(),
                     k = get<ListAttributes>(attributes).list[0];
  const Mode mode = mode_like(x);
  const T row = emit(mode, OpId::arange, RangeAttributes{{rows}, DType::i64, Scalar(k), Scalar(1)});
  const T column = emit(mode, OpId::arange, RangeAttributes{{columns}, DType::i64, Scalar(0), Scalar(1)});
  const T edge = expand_dims(row, 1);
  return {where(id == OpId::tril ? less_equal(column, edge) : greater_equal(column, edge), x,
                scalar_constant(0, x.dtype()))};
}

}  // namespace

std::span<const OpDef> triangle_operators() {
  static const OpDef rows[] = {
      {.id = OpId::diag_embed,
       .doc = "Zeros with the last axis as a diagonal.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .infer = infer_diag_embed,
       .gradient = diag_embed_gradient,
       .lower = lower_diag_embed,
       .sample = [](DType t) -> Value { return diag(samples::line(t)); }},
      {.id = OpId::tril,
       .doc = "The lower triangle.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .in_place = InPlace::same_index,
       .infer = infer_triangle,
       .gradient = triangle_gradient<OpId::tril>,
       .lower = lower_triangle<OpId::tril>,
       .sample = [](DType t) -> Value { return tril(samples::square_matrix(t)); }},
      {.id = OpId::triu,
       .doc = "The upper triangle.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .in_place = InPlace::same_index,
       .infer = infer_triangle,
       .gradient = triangle_gradient<OpId::triu>,
       .lower = lower_triangle<OpId::triu>,
       .sample = [](DType t) -> Value { return triu(samples::square_matrix(t)); }},
  };
  return rows;
}

namespace {

// Beyond the corners nothing changes, and a diagonal within them cannot overflow.
Value triangle(OpId id, const Value& x, std::int64_t k) {
  if (x.ndim() >= 2) {
    const Shape& shape = x.shape();
    k = std::clamp(k, -shape[shape.size() - 2], shape.back());
  }
  return emit(id, ListAttributes{{k}}, {x});
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::emit;
using core::OpId;

template <class M>
Tensor<M> diag(const Tensor<M>& x, std::int64_t k) {
  TYTO_ONCE(diag, x, k);
  core::require("diag", x);
  if (x.ndim() == 1) return emit(OpId::diag_embed, core::ListAttributes{{k}}, {x});
  if (x.ndim() == 2) return diagonal(x, k, 0, 1);
  core::throw_error<ShapeError>("diag: a vector or a matrix is needed, not shape ", x.shape());
}

template <class M>
Tensor<M> tril(const Tensor<M>& x, std::int64_t k) {
  return core::triangle(OpId::tril, core::given("tril", x), k);
}

template <class M>
Tensor<M> triu(const Tensor<M>& x, std::int64_t k) {
  return core::triangle(OpId::triu, core::given("triu", x), k);
}

TYTO_INSTANTIATE(diag)
TYTO_INSTANTIATE(tril)
TYTO_INSTANTIATE(triu)

}  // namespace TYTO_API
