// Attention composed of operators. A fused operator takes this body's place, not its callers'.
#include <cmath>

#include "nn/layer_parts.hpp"
#include "tyto/attention.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace {

using nn::text;

constexpr const char* attention_name = "scaled_dot_product_attention";

void check_attention(const Tensor<Any>& q, const Tensor<Any>& k, const Tensor<Any>& v,
                     const AttentionOptions<Any>& options) {
  for (const Tensor<Any>* each : {&q, &k, &v}) {
    if (!is_floating(each->dtype())) {
      throw TypeError(text(attention_name, ": given is ", name_of(each->dtype()), "; a floating type is expected"));
    }
    if (each->ndim() < 2) {
      throw ShapeError(text(attention_name, ": ", each->shape(), " must be (..., length, features)"));
    }
  }
  const std::size_t kr = k.shape().size(), vr = v.shape().size();
  if (q.shape().back() != k.shape().back()) {
    throw ShapeError(
        text(attention_name, ": queries ", q.shape(), " and keys ", k.shape(), " must have equally many features"));
  }
  if (k.shape()[kr - 2] != v.shape()[vr - 2]) {
    throw ShapeError(text(attention_name, ": there must be as many keys ", k.shape(), " as values ", v.shape()));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw ValueError(text(attention_name, ": the dropout ", options.dropout, " must be in [0, 1)"));
  }
  const Tensor<Any>& mask = options.mask;
  if (mask.defined() && mask.dtype() != DType::boolean && !is_floating(mask.dtype())) {
    throw TypeError(text(attention_name, ": the mask is ", name_of(mask.dtype()),
                         "; bool (true: may look) or a floating type (added) is expected"));
  }
  if (!options.key_mask.defined()) return;
  if (options.key_mask.dtype() != DType::boolean) {
    throw TypeError(text(attention_name, ": the key mask is ", name_of(options.key_mask.dtype()),
                         "; bool is expected, true where a key is no padding"));
  }
  if (options.key_mask.shape() != Shape{q.shape()[0], k.shape()[kr - 2]} || q.ndim() < 3) {
    throw ShapeError(text(attention_name, ": the key mask is ", options.key_mask.shape(),
                          ", it must be (batch, keys) of ", "queries ", q.shape(), " and keys ", k.shape()));
  }
}

/// True where a query may look; an empty handle where nothing is forbidden.
Tensor<Any> allowed(const Tensor<Any>& q, const Tensor<Any>& k, const AttentionOptions<Any>& options) {
  Tensor<Any> all_of;
  const auto restrict = [&](const Tensor<Any>& more) { all_of = !all_of.defined() ? more : all_of && more; };
  const std::int64_t queries = q.shape()[q.shape().size() - 2], keys = k.shape()[k.shape().size() - 2];
  if (options.mask.defined() && options.mask.dtype() == DType::boolean) restrict(options.mask);
  if (options.causal) restrict(Tensor<Any>::tri(queries, keys, 0, DType::boolean));
  if (options.key_mask.defined()) {
    Shape shape(q.shape().size(), 1);
    shape[0] = options.key_mask.shape()[0];
    shape[shape.size() - 1] = keys;
    restrict(reshape(options.key_mask, shape));
  }
  return all_of;
}

// Far below every score and far from infinity, so that a row that is forbidden as a whole has no NaN in its gradient.
double lowest_score(DType dtype) { return dtype == DType::f16 ? -3e4 : -1e30; }

}  // namespace

Tensor<Any> attention(const Tensor<Any>& q, const Tensor<Any>& k, const Tensor<Any>& v,
                      const AttentionOptions<Any>& options) {
  check_attention(q, k, v, options);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape().back())));
  Tensor<Any> scores = matmul(q * scale, matrix_transpose(k));
  if (options.mask.defined() && is_floating(options.mask.dtype())) {
    scores = scores + nn::as_type(options.mask, scores.dtype());
  }
  const Tensor<Any> may = allowed(q, k, options);
  if (may.defined()) scores = where(may, scores, lowest_score(scores.dtype()));
  Tensor<Any> weights = softmax(scores, -1);
  if (may.defined()) weights = where(may, weights, 0.0);
  if (options.dropout > 0) weights = weights * dropout_mask(weights, options.dropout);
  return matmul(weights, v);
}

}  // namespace detail
}  // namespace TYTO_API
