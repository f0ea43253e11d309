// Products of matrices and tensors, and attention.
#include <cmath>
#include <limits>

#include "onnx/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/linalg.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
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

Outputs summation(const OperatorCall& call) { return {einsum(call.text("equation", ""), call.tensors())}; }

Outputs determinant(const OperatorCall& call) { return {linalg::det(call[0])}; }

// (batch, length, heads * features) as (batch, heads, length, features).
Array by_head(const Array& x, std::int64_t heads) {
  if (x.ndim() == 4) return x;
  return transpose(reshape(x, {x.shape()[0], x.shape()[1], heads, -1}), {0, 2, 1, 3});
}

// Heads that share keys and values get a copy of them by broadcasting.
Array for_heads(const Array& x, std::int64_t heads) {
  const std::int64_t own = x.shape()[1];
  if (own == heads) return x;
  const Shape& s = x.shape();
  return reshape(broadcast_to(expand_dims(x, 2), {s[0], own, heads / own, s[2], s[3]}), {s[0], heads, s[2], s[3]});
}

Outputs attention(const OperatorCall& call) {
  const Array &q0 = call[0], &k0 = call[1], &v0 = call[2];
  const std::int64_t q_heads = call.integer("q_num_heads", q0.ndim() == 4 ? q0.shape()[1] : 0);
  const std::int64_t kv_heads = call.integer("kv_num_heads", k0.ndim() == 4 ? k0.shape()[1] : 0);
  const double cap = call.number("softcap", 0);
  const bool causal = call.integer("is_causal", 0) != 0;
  const std::int64_t shown = call.integer("qk_matmul_output_mode", 0);
  call.ignore("softmax_precision");
  if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0) call.refuse(q_heads, " heads for ", kv_heads, " of keys");
  const Array q = by_head(q0, q_heads);
  Array k = by_head(k0, kv_heads), v = by_head(v0, kv_heads);
  std::int64_t past = 0;
  if (call.has(4) && call.has(5)) {
    past = call[4].shape()[2];
    k = concat<Any>({call[4], k}, 2);
    v = concat<Any>({call[5], v}, 2);
  }
  const std::int64_t n = q.shape()[2], m = k.shape()[2];
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(q.shape()[3])));
  const Array raw = matmul(q * std::sqrt(scale), matrix_transpose(for_heads(k, q_heads)) * std::sqrt(scale));
  Array scores = raw;
  const double never = -std::numeric_limits<double>::infinity();
  Array bias;
  if (call.has(3)) {
    bias = call[3];
    if (bias.dtype() == DType::boolean) bias = where(bias, Array::full({}, 0.0, q.dtype()), never);
    // A mask may end before the keys do.
    if (bias.shape()[static_cast<std::size_t>(bias.ndim() - 1)] < m) {
      IntList after(static_cast<std::size_t>(bias.ndim()), 0);
      after[after.size() - 1] = m - bias.shape()[after.size() - 1];
      bias = pad(bias, IntList(after.size(), 0), after, PaddingMode::constant, never);
    }
  }
  if (causal) {
    const Array allowed = tril(Array::ones({n, m}, DType::f32), past) != 0;
    const Array rule = where(allowed, Array::full({}, 0.0, q.dtype()), never);
    bias = bias.defined() ? bias + rule : rule;
  }
  if (call.has(6)) {
    const Array counts = reshape(cast(call[6], DType::i64), {-1, 1, 1, 1});
    const Array rule = where(less(Array::arange(m), counts), Array::full({}, 0.0, q.dtype()), never);
    bias = bias.defined() ? bias + rule : rule;
  }
  const bool cap_first = call.version() >= 24;
  Array capped = scores, masked;
  if (cap_first) {
    if (cap != 0) capped = tanh(scores / cap) * cap;
    masked = bias.defined() ? capped + bias : capped;
  } else {
    masked = bias.defined() ? scores + bias : scores;
    capped = cap != 0 ? tanh(masked / cap) * cap : masked;
    std::swap(capped, masked);
  }
  const Array weights = softmax(masked, -1);
  Array y = matmul(weights, for_heads(v, q_heads));
  if (q0.ndim() == 3) y = reshape(transpose(y, {0, 2, 1, 3}), {q0.shape()[0], n, -1});
  const Array stages[] = {raw, call.version() >= 24 ? capped : capped, masked, weights};
  if (shown < 0 || shown > 3) call.refuse("qk_matmul_output_mode ", shown, "; known are 0 to 3");
  return {cast(y, q0.dtype()), k, v, stages[shown]};
}

constexpr OperatorRow product_table[] = {
    {"Attention", 23, attention}, {"Det", 11, determinant}, {"Einsum", 12, summation},
    {"Gemm", 7, general_product}, {"MatMul", 1, product},
};

}  // namespace

std::span<const OperatorRow> product_rows() { return product_table; }

}  // namespace tyto::onnx
