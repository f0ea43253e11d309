// SPDX-License-Identifier: MIT
// Scaled dot-product attention as one operator, so that no device need hold all scores at once, and its gradient.
//
// With S = scale * Q KT + mask and L the logarithms of the sums of exp(S) over the keys, the weights are
// P = exp(S - L). Given the gradient G of Y = P V and D = sum(G * Y) - (the gradient of L), that of S is
// P * (G VT - D): everything follows from Q, K, V, L and D, so P is made anew where it is needed.
#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/attention.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

constexpr const char* function = "scaled_dot_product_attention";

/// The type in which scores are added up.
DType sum_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

std::int64_t length_of(const Shape& shape) { return shape[shape.size() - 2]; }

Shape with_last(Shape shape, std::int64_t last) {
  shape[shape.size() - 1] = last;
  return shape;
}

Shape without_last(const Shape& shape) { return Shape(std::span<const std::int64_t>(shape.data(), shape.size() - 1)); }

/// Checks q, k, v and the mask, if there is one, and returns the shape of the scores.
Shape score_shape(std::string_view op, const TensorType& q, const TensorType& k, const TensorType& v,
                  const TensorType* mask) {
  const auto refuse = [&](const std::string& why) {
    throw_error<ShapeError>(op, ": queries ", q.shape, ", keys ", k.shape, " and values ", v.shape, " ", why);
  };
  const std::size_t rank = q.shape.size();
  if (rank < 2 || k.shape.size() != rank || v.shape.size() != rank) refuse("must be (..., length, features) alike");
  if (!is_floating(q.dtype) || k.dtype != q.dtype || v.dtype != q.dtype) {
    throw_error<TypeError>(op, ": queries, keys and values must be of one floating type, not ", q.dtype, ", ", k.dtype,
                           " and ", v.dtype);
  }
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (k.shape[axis] != q.shape[axis] || v.shape[axis] != q.shape[axis]) refuse("must agree in their leading axes");
  }
  if (k.shape.back() != q.shape.back()) refuse("must have equally many features in queries and keys");
  if (length_of(v.shape) != length_of(k.shape)) refuse("must have as many values as keys");
  Shape scores = with_last(q.shape, length_of(k.shape));
  if (mask == nullptr) return scores;
  if (mask->shape != scores) throw_error<ShapeError>(op, ": the mask is ", mask->shape, ", not ", scores);
  if (mask->dtype != DType::boolean && mask->dtype != sum_type(q.dtype)) {
    throw_error<TypeError>(op, ": the mask is ", mask->dtype, ", not bool or ", sum_type(q.dtype));
  }
  return scores;
}

std::vector<TensorType> infer_attention(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)get<AttentionAttributes>(attributes);
  (void)score_shape("attention", inputs[0], inputs[1], inputs[2], inputs.size() > 3 ? &inputs[3] : nullptr);
  const DType dtype = inputs[0].dtype;
  return {TensorType{dtype, with_last(inputs[0].shape, inputs[2].shape.back()), false},
          TensorType{sum_type(dtype), without_last(inputs[0].shape), false}};
}

/// Operands of the gradient: q, k, v, L, D, G and the mask.
std::vector<TensorType> infer_gradient(const Attributes& attributes, std::span<const TensorType> inputs) {
  constexpr std::string_view op = "attention_gradient";
  (void)get<AttentionAttributes>(attributes);
  (void)score_shape(op, inputs[0], inputs[1], inputs[2], inputs.size() > 6 ? &inputs[6] : nullptr);
  const TensorType row{sum_type(inputs[0].dtype), without_last(inputs[0].shape), false};
  for (const TensorType* each : {&inputs[3], &inputs[4]}) {
    if (each->shape == row.shape && each->dtype == row.dtype) continue;
    throw_error<ShapeError>(op, ": one number a query is ", row.dtype, row.shape, ", not ", each->dtype, each->shape);
  }
  const Shape result = with_last(inputs[0].shape, inputs[2].shape.back());
  if (inputs[5].shape != result || inputs[5].dtype != inputs[0].dtype) {
    throw_error<ShapeError>(op, ": the result's gradient is ", inputs[5].dtype, inputs[5].shape, ", not ",
                            inputs[0].dtype, result);
  }
  return {TensorType{inputs[0].dtype, inputs[0].shape, false}, TensorType{inputs[1].dtype, inputs[1].shape, false},
          TensorType{inputs[2].dtype, inputs[2].shape, false}};
}

/// The operands of scores, in the type of sums; the mask may be empty.
struct Scored {
  T q, k, mask;
  AttentionAttributes attributes;

  /// S, minus infinity where a query may not look.
  T scores() const {
    constexpr double nowhere = -std::numeric_limits<double>::infinity();
    T s = matmul(q * attributes.scale, matrix_transpose(k));
    if (mask.defined()) s = mask.dtype() == DType::boolean ? where(mask, s, nowhere) : s + mask;
    if (!attributes.causal) return s;
    return where(T::tri(length_of(q.shape()), length_of(k.shape()), 0, DType::boolean), s, nowhere);
  }
  T weights(const T& log_sums) const { return exp(scores() - expand_dims(log_sums, -1)); }
};

std::vector<Value> lower_attention(const Attributes& attributes, std::span<const Value> inputs) {
  const Scored scored{widened(inputs[0]), widened(inputs[1]), inputs.size() > 3 ? T(inputs[3]) : T(),
                      get<AttentionAttributes>(attributes)};
  const T s = scored.scores(), v = widened(inputs[2]);
  if (length_of(scored.k.shape()) == 0) {
    return {cast_to(matmul(s, v), inputs[0].dtype()), sum(s, -1) + std::numeric_limits<double>::infinity()};
  }
  T greatest = max(s, -1, true);
  greatest = where(equal(greatest, -std::numeric_limits<double>::infinity()), 0.0,
                   greatest);  // of a query that may look nowhere
  const T e = exp(s - greatest), total = sum(e, -1, true);
  const T empty = equal(total, 0);
  const T y = matmul(e, v) / where(empty, 1.0, total);
  const T log_sums = where(empty, std::numeric_limits<double>::infinity(), greatest + log(total));
  return {cast_to(y, inputs[0].dtype()), squeeze(log_sums, -1)};
}

/// Everything that the gradient and its own gradient are made of, in the type of sums.
struct Gradients {
  Scored scored;
  T q, k, v, g, p, inner;  // inner: G VT - D

  explicit Gradients(const Attributes& attributes, std::span<const Value> inputs)
      : scored{widened(inputs[0]), widened(inputs[1]), inputs.size() > 6 ? T(inputs[6]) : T(),
               get<AttentionAttributes>(attributes)},
        q(scored.q),
        k(scored.k),
        v(widened(inputs[2])),
        g(widened(inputs[5])),
        p(scored.weights(T(inputs[3]))),
        inner(matmul(g, matrix_transpose(v)) - expand_dims(T(inputs[4]), -1)) {}

  double scale() const { return scored.attributes.scale; }
  T of_scores() const { return p * inner; }
};

std::vector<Value> lower_gradient(const Attributes& attributes, std::span<const Value> inputs) {
  const Gradients s(attributes, inputs);
  const T ds = s.of_scores();
  const DType dtype = inputs[0].dtype();
  return {cast_to(matmul(ds, s.k) * s.scale(), dtype), cast_to(matmul(matrix_transpose(ds), s.q) * s.scale(), dtype),
          cast_to(matmul(matrix_transpose(s.p), s.g), dtype)};
}

std::vector<Value> attention_rule(const GradientContext& c) {
  const DType wide = c.results[1].dtype();
  const T g = c.gradients[0] ? T(c.gradients[0]) : zeros_like(T(c.results[0]));
  T d = sum(T(cast_to(g, wide)) * T(cast_to(c.results[0], wide)), -1);
  if (c.gradients[1]) d = d - T(c.gradients[1]);
  std::vector<Value> operands{c.inputs[0], c.inputs[1], c.inputs[2], c.results[1], d, g};
  const bool masked = c.inputs.size() > 3;
  if (masked) operands.push_back(c.inputs[3]);
  std::vector<Value> gradients;
  if (c.needed[0] || c.needed[1] || c.needed[2]) {
    const Value first = emit(OpId::attention_gradient, c.attributes, operands);
    gradients = {first, result(first, 1), result(first, 2)};
  } else {
    gradients.resize(3);
  }
  if (masked) {
    const bool wanted = c.needed[3] && c.inputs[3].dtype() != DType::boolean;
    gradients.push_back(wanted ? Value(Gradients(c.attributes, operands).of_scores()) : Value());
  }
  return gradients;
}

// The gradients of dQ = scale dS K, dK = scale dST Q and dV = PT G, given those of the three: a, b and c.
std::vector<Value> gradient_rule(const GradientContext& context) {
  const Gradients s(context.attributes, context.inputs);
  const auto given_or_zero = [&](std::size_t i) {
    return context.gradients[i] ? T(widened(context.gradients[i])) : zeros_like(T(widened(context.inputs[i])));
  };
  const T a = given_or_zero(0), b = given_or_zero(1), c = given_or_zero(2), ds = s.of_scores();
  const T t = (matmul(a, matrix_transpose(s.k)) + matmul(s.q, matrix_transpose(b))) * s.scale();
  const T by_inner = t * s.p;
  const T by_scores = (t * s.inner + matmul(s.g, matrix_transpose(c))) * s.p;
  const DType dtype = context.inputs[0].dtype();
  std::vector<Value> gradients{
      cast_to((matmul(by_scores, s.k) + matmul(ds, b)) * s.scale(), dtype),
      cast_to((matmul(matrix_transpose(by_scores), s.q) + matmul(matrix_transpose(ds), a)) * s.scale(), dtype),
      cast_to(matmul(matrix_transpose(by_inner), s.g), dtype),
      -sum(by_scores, -1),
      -sum(by_inner, -1),
      cast_to(matmul(by_inner, s.v) + matmul(s.p, c), dtype),
  };
  if (context.inputs.size() > 6) {
    gradients.push_back(context.inputs[6].dtype() == DType::boolean ? Value() : Value(by_scores));
  }
  return gradients;
}

}  // namespace

std::span<const OpDef> attention_operators() {
  static const OpDef rows[] = {
      {.id = OpId::attention,
       .doc = "softmax(scale * queries keysT + mask) values, and the logarithms of the sums of exponentials.",
       .min_inputs = 3,
       .max_inputs = 4,
       .results = 2,
       .infer = infer_attention,
       .gradient = attention_rule,
       .lower = lower_attention,
       .sample = [](DType t) -> Value {
         return scaled_dot_product_attention(samples::square_matrix(t), samples::square_matrix(t),
                                             samples::square_matrix(t));
       }},
      {.id = OpId::attention_gradient,
       .doc = "Gradients of attention by queries, keys and values, from the logarithms of the sums.",
       .min_inputs = 6,
       .max_inputs = 7,
       .results = 3,
       .infer = infer_gradient,
       .gradient = gradient_rule,
       .lower = lower_gradient,
       .sample = [](DType t) -> Value {
         const auto attend = [](const samples::T& x) { return scaled_dot_product_attention(x, x, x); };
         return samples::gradient(attend, samples::square_matrix(t));
       }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {
namespace detail {

namespace {

using core::throw_error;

void check_attention(const Tensor<Any>& q, const Tensor<Any>& k, const Tensor<Any>& v,
                     const AttentionOptions<Any>& options) {
  core::require(core::function, q, k, v);
  for (const Tensor<Any>* each : {&q, &k, &v}) {
    if (!is_floating(each->dtype())) {
      throw_error<TypeError>(core::function, ": given is ", name_of(each->dtype()), "; a floating type is expected");
    }
    if (each->ndim() < 2) {
      throw_error<ShapeError>(core::function, ": ", each->shape(), " must be (..., length, features)");
    }
  }
  const std::size_t kr = k.shape().size(), vr = v.shape().size();
  if (q.shape().back() != k.shape().back()) {
    throw_error<ShapeError>(core::function, ": queries ", q.shape(), " and keys ", k.shape(),
                            " must have equally many features");
  }
  if (k.shape()[kr - 2] != v.shape()[vr - 2]) {
    throw_error<ShapeError>(core::function, ": there must be as many keys ", k.shape(), " as values ", v.shape());
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw_error<ValueError>(core::function, ": the dropout ", options.dropout, " must be in [0, 1)");
  }
  const Tensor<Any>& mask = options.mask;
  if (mask.defined() && mask.dtype() != DType::boolean && !is_floating(mask.dtype())) {
    throw_error<TypeError>(core::function, ": the mask is ", name_of(mask.dtype()),
                           "; bool (true: may look) or a floating type (added) is expected");
  }
  if (!options.key_mask.defined()) return;
  if (options.key_mask.dtype() != DType::boolean) {
    throw_error<TypeError>(core::function, ": the key mask is ", name_of(options.key_mask.dtype()),
                           "; bool is expected, true where a key is no padding");
  }
  if (options.key_mask.shape() != Shape{q.shape()[0], k.shape()[kr - 2]} || q.ndim() < 3) {
    throw_error<ShapeError>(core::function, ": the key mask is ", options.key_mask.shape(),
                            ", it must be (batch, keys) of ", "queries ", q.shape(), " and keys ", k.shape());
  }
}

/// The two masks as one: bool, or a number added to each score; an undefined tensor where there are none.
Tensor<Any> joined_mask(const Tensor<Any>& q, const Tensor<Any>& k, const AttentionOptions<Any>& options) {
  Tensor<Any> mask = options.mask;
  if (mask.defined() && mask.dtype() != DType::boolean) mask = core::cast_to(mask, core::sum_type(q.dtype()));
  if (!options.key_mask.defined()) return mask;
  Shape shape(q.shape().size(), 1);
  shape[0] = options.key_mask.shape()[0];
  shape[shape.size() - 1] = core::length_of(k.shape());
  const Tensor<Any> keys = reshape(options.key_mask, shape);
  if (!mask.defined()) return keys;
  if (mask.dtype() == DType::boolean) return mask && keys;
  return where(keys, mask, -std::numeric_limits<double>::infinity());
}

Tensor<Any> spread(const Tensor<Any>& x, const Shape& stack) {
  Shape shape = stack;
  for (std::size_t axis = x.shape().size() - 2; axis < x.shape().size(); ++axis) shape.push_back(x.shape()[axis]);
  return x.shape() == shape ? x : broadcast_to(x, shape);
}

Shape stack_of(const Tensor<Any>& x) {
  return Shape(std::span<const std::int64_t>(x.shape().data(), x.shape().size() - 2));
}

// Dropout acts on weights that must be there: those of all queries and keys.
Tensor<Any> attention_with_dropout(const core::Scored& scored, const Tensor<Any>& v, double rate) {
  const Tensor<Any> s = scored.scores();
  const Tensor<Any> nowhere = equal(max(s, -1, true), -std::numeric_limits<double>::infinity());
  const Tensor<Any> weights = where(nowhere, 0.0, softmax(where(nowhere, 0.0, s), -1));
  return core::cast_to(matmul(weights * dropout_mask(weights, rate), core::widened(v)), v.dtype());
}

}  // namespace

Tensor<Any> attention(const Tensor<Any>& queries, const Tensor<Any>& keys, const Tensor<Any>& values,
                      const AttentionOptions<Any>& options) {
  check_attention(queries, keys, values, options);
  const Value operands[] = {queries.value(), keys.value(), values.value()};
  const DType dtype = core::common_type(operands);
  const Shape stack = core::broadcast(core::function, stack_of(queries),
                                      core::broadcast(core::function, stack_of(keys), stack_of(values)));
  const auto operand = [&](const Tensor<Any>& x) { return spread(Tensor<Any>(core::cast_to(x, dtype)), stack); };
  const Tensor<Any> q = operand(queries), k = operand(keys), v = operand(values);
  const core::AttentionAttributes attributes{
      options.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape().back()))), options.causal};
  Tensor<Any> mask = joined_mask(q, k, options);
  if (options.dropout > 0)
    return attention_with_dropout({core::widened(q), core::widened(k), mask, attributes}, v, options.dropout);
  std::vector<Value> inputs{q, k, v};
  if (mask.defined()) {
    inputs.push_back(broadcast_to(mask, core::with_last(q.shape(), core::length_of(k.shape()))));
  }
  return Tensor<Any>(core::emit(core::OpId::attention, attributes, inputs));
}

}  // namespace detail
}  // namespace TYTO_API
