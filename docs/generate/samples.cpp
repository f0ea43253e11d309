// Each operator applied once through the public functions, in lazy mode: nothing is computed.
#include "docs/generate/samples.hpp"

#include <unordered_map>
#include <unordered_set>

#include "core/op_ids.hpp"
#include "ops/define.hpp"
#include "tyto/tyto.hpp"

namespace tyto::docs {

namespace {

using core::OpId;
using T = Tensor<Lazy>;
using Sample = T (*)(DType);

T square_matrix(DType type) { return T::ones({4, 4}, type); }
T line(DType type) { return T::ones({4}, type); }
T picture(DType type) { return T::ones({1, 4, 4, 2}, type); }
T positions() { return T::zeros({4}, DType::i64); }

/// The gradient of the sum of f at x: what records the operators that only gradients use.
template <class F>
T slope(const F& f, const T& x) {
  return grad([&](const T& at) { return sum(f(at)); })(x);
}

const std::unordered_map<OpId, Sample>& samples() {
  static const std::unordered_map<OpId, Sample> list{
      {OpId::copy, [](DType t) { return copy(line(t)); }},
      {OpId::stop_gradient, [](DType t) { return stop_gradient(line(t)); }},
      {OpId::cast, [](DType t) { return cast(line(t), t == DType::f32 ? DType::i32 : DType::f32); }},
      {OpId::fill, [](DType t) { return T::full({2}, 1, t); }},
      {OpId::arange, [](DType t) { return T::arange(0, 4, 1, t); }},
      {OpId::eye, [](DType t) { return T::eye(2, 2, 0, t); }},
      {OpId::one_hot, [](DType t) { return one_hot(line(t), 3); }},
      {OpId::random_uniform, [](DType t) { return T::uniform({2}, {.dtype = t}); }},
      {OpId::random_normal, [](DType t) { return T::normal({2}, {.dtype = t}); }},
      {OpId::random_bernoulli, [](DType t) { return T::bernoulli({2}, {.dtype = t}); }},
      {OpId::random_integers, [](DType t) { return T::integers({2}, {.dtype = t}); }},
      {OpId::random_truncated_normal, [](DType t) { return T::truncated_normal({2}, {.dtype = t}); }},
      {OpId::random_gamma, [](DType t) { return T::gamma({2}, {.dtype = t}); }},
      {OpId::random_exponential, [](DType t) { return T::exponential({2}, {.dtype = t}); }},
      {OpId::random_permutation, [](DType t) { return t == DType::i64 ? T::permutation(4) : throw TypeError(""); }},
      {OpId::reshape,
       [](DType t) {
         return reshape(line(t), {2, 2});
       }},
      {OpId::transpose, [](DType t) { return transpose(square_matrix(t)); }},
      {OpId::broadcast_to,
       [](DType t) {
         return broadcast_to(line(t), {2, 4});
       }},
      {OpId::slice, [](DType t) -> T { return line(t)(slice(1, 3)); }},
      {OpId::flip, [](DType t) { return flip(line(t)); }},
      {OpId::diagonal, [](DType t) { return diagonal(square_matrix(t)); }},
      {OpId::view_as_real, [](DType t) { return view_as_real(line(t)); }},
      {OpId::view_as_complex,
       [](DType t) {
         return view_as_complex(T::ones({4, 2}, t));
       }},
      {OpId::sum, [](DType t) { return sum(line(t)); }},
      {OpId::prod, [](DType t) { return prod(line(t)); }},
      {OpId::mean, [](DType t) { return mean(line(t)); }},
      {OpId::var, [](DType t) { return var(line(t)); }},
      {OpId::min, [](DType t) { return min(line(t)); }},
      {OpId::max, [](DType t) { return max(line(t)); }},
      {OpId::argmin, [](DType t) { return argmin(line(t)); }},
      {OpId::argmax, [](DType t) { return argmax(line(t)); }},
      {OpId::any, [](DType t) { return any(line(t)); }},
      {OpId::all, [](DType t) { return all(line(t)); }},
      {OpId::logsumexp, [](DType t) { return logsumexp(line(t)); }},
      {OpId::cumsum, [](DType t) { return cumsum(line(t), 0); }},
      {OpId::cumprod, [](DType t) { return cumprod(line(t), 0); }},
      {OpId::cummin, [](DType t) { return cummin(line(t), 0); }},
      {OpId::cummax, [](DType t) { return cummax(line(t), 0); }},
      {OpId::set_slice, [](DType t) { return set(line(t), {slice(1, 3)}, T::ones({2}, t)); }},
      {OpId::concat,
       [](DType t) {
         return concat<Lazy>({line(t), line(t)});
       }},
      {OpId::tile, [](DType t) { return tile(line(t), {2}); }},
      {OpId::repeat, [](DType t) { return repeat(line(t), 2); }},
      {OpId::roll, [](DType t) { return roll(line(t), {1}); }},
      {OpId::pad, [](DType t) { return pad(line(t), {1}, {1}); }},
      {OpId::diag_embed, [](DType t) { return diag(line(t)); }},
      {OpId::tril, [](DType t) { return tril(square_matrix(t)); }},
      {OpId::triu, [](DType t) { return triu(square_matrix(t)); }},
      {OpId::take, [](DType t) { return take(line(t), positions(), 0); }},
      {OpId::take_along_axis, [](DType t) { return take_along_axis(line(t), positions(), 0); }},
      {OpId::gather, [](DType t) { return gather<Lazy>(line(t), {positions()}); }},
      {OpId::scatter, [](DType t) { return scatter<Lazy>(line(t), {positions()}, line(t)); }},
      {OpId::scatter_add, [](DType t) { return scatter_add<Lazy>(line(t), {positions()}, line(t)); }},
      {OpId::scatter_multiply, [](DType t) { return scatter_multiply<Lazy>(line(t), {positions()}, line(t)); }},
      {OpId::scatter_min, [](DType t) { return scatter_min<Lazy>(line(t), {positions()}, line(t)); }},
      {OpId::scatter_max, [](DType t) { return scatter_max<Lazy>(line(t), {positions()}, line(t)); }},
      {OpId::nms,
       [](DType t) {
         return nms(T::ones({2, 4}, t), T::ones({2}, t)).indices;
       }},
      {OpId::sort, [](DType t) { return sort(line(t)); }},
      {OpId::argsort, [](DType t) { return argsort(line(t)); }},
      {OpId::topk, [](DType t) { return topk(line(t), 2).values; }},
      {OpId::order_statistics, [](DType t) { return median(line(t)); }},
      {OpId::partition, [](DType t) { return partition(line(t), 1); }},
      {OpId::argpartition, [](DType t) { return argpartition(line(t), 1); }},
      {OpId::searchsorted, [](DType t) { return searchsorted(line(t), line(t)); }},
      {OpId::histogram, [](DType t) { return histogram(line(t), line(t)); }},
      {OpId::matmul, [](DType t) { return matmul(square_matrix(t), square_matrix(t)); }},
      {OpId::lu_factor, [](DType t) { return linalg::lu_factor(square_matrix(t)).lu; }},
      {OpId::lu_solve, [](DType t) { return linalg::lu_solve(linalg::lu_factor(square_matrix(t)), square_matrix(t)); }},
      {OpId::solve, [](DType t) { return linalg::solve(square_matrix(t), square_matrix(t)); }},
      {OpId::inv, [](DType t) { return linalg::inv(square_matrix(t)); }},
      {OpId::det, [](DType t) { return linalg::det(square_matrix(t)); }},
      {OpId::cholesky, [](DType t) { return linalg::cholesky(square_matrix(t)); }},
      {OpId::triangular_solve, [](DType t) { return linalg::triangular_solve(square_matrix(t), square_matrix(t)); }},
      {OpId::qr, [](DType t) { return linalg::qr(square_matrix(t)).q; }},
      {OpId::eigh, [](DType t) { return linalg::eigh(square_matrix(t)).vectors; }},
      {OpId::eigvalsh, [](DType t) { return linalg::eigvalsh(square_matrix(t)); }},
      {OpId::svd, [](DType t) { return linalg::svd(square_matrix(t)).u; }},
      {OpId::svdvals, [](DType t) { return linalg::svdvals(square_matrix(t)); }},
      {OpId::pinv, [](DType t) { return linalg::pinv(square_matrix(t)); }},
      {OpId::eig, [](DType t) { return linalg::eig(square_matrix(t)).vectors; }},
      {OpId::eigvals, [](DType t) { return linalg::eigvals(square_matrix(t)); }},
      {OpId::expm, [](DType t) { return linalg::expm(square_matrix(t)); }},
      {OpId::fft, [](DType t) { return fft::fft(line(t)); }},
      {OpId::rfft, [](DType t) { return fft::rfft(line(t)); }},
      {OpId::irfft, [](DType t) { return fft::irfft(line(t)); }},
      {OpId::attention,
       [](DType t) -> T { return scaled_dot_product_attention(square_matrix(t), square_matrix(t), square_matrix(t)); }},
      {OpId::attention_gradient,
       [](DType t) {
         const auto attend = [](const T& x) { return scaled_dot_product_attention(x, x, x); };
         return slope(attend, square_matrix(t));
       }},
      {OpId::softmax, [](DType t) { return softmax(line(t)); }},
      {OpId::log_softmax, [](DType t) { return log_softmax(line(t)); }},
      {OpId::convolution,
       [](DType t) {
         return conv2d(picture(t), T::ones({3, 3, 2, 2}, t));
       }},
      {OpId::convolution_input_gradient,
       [](DType t) {
         return slope([&](const T& x) { return conv2d(x, T::ones({3, 3, 2, 2}, t)); }, picture(t));
       }},
      {OpId::convolution_kernel_gradient,
       [](DType t) {
         return slope([&](const T& w) { return conv2d(picture(t), w); }, T::ones({3, 3, 2, 2}, t));
       }},
      {OpId::max_pool, [](DType t) { return max_pool(picture(t), 2); }},
      {OpId::max_pool_gradient, [](DType t) { return slope([](const T& x) { return max_pool(x, 2); }, picture(t)); }},
      {OpId::max_pool_pick,
       [](DType t) {
         return slope([](const T& x) { return square(slope([](const T& y) { return square(max_pool(y, 2)); }, x)); },
                      picture(t));
       }},
      {OpId::average_pool, [](DType t) { return average_pool(picture(t), 2); }},
      {OpId::average_pool_gradient,
       [](DType t) { return slope([](const T& x) { return average_pool(x, 2); }, picture(t)); }},
      {OpId::upsample_nearest, [](DType t) { return upsample(picture(t), 2); }},
      {OpId::upsample_nearest_gradient,
       [](DType t) { return slope([](const T& x) { return upsample(x, 2); }, picture(t)); }},
      {OpId::upsample_bilinear, [](DType t) { return upsample(picture(t), 2, Resampling::bilinear); }},
      {OpId::upsample_bilinear_gradient,
       [](DType t) { return slope([](const T& x) { return upsample(x, 2, Resampling::bilinear); }, picture(t)); }},
      {OpId::fused,
       [](DType t) -> T {
         const core::LoopProgram twice{1, {}, {{OpId::add, t, {0, 0}}}, {1}};
         return core::emit(OpId::fused, core::LoopAttributes{{4}, {}, twice}, {line(t)});
       }},
      {OpId::matmul_epilogue,
       [](DType t) -> T {
         if (!is_floating(t)) throw TypeError("matmul_epilogue: the optimiser makes it of floating products only");
         core::ProductAttributes with_bias;
         with_bias.bias = true;
         return core::emit(OpId::matmul_epilogue, with_bias, {T::ones({2, 3}, t), T::ones({3, 4}, t), T::ones({4}, t)});
       }},
      {OpId::convolution_epilogue,
       [](DType t) -> T {
         if (!is_floating(t)) throw TypeError("convolution_epilogue: the optimiser makes it of floating ones only");
         core::ProductAttributes with_relu;
         with_relu.low = 0;
         with_relu.window = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, {}};
         return core::emit(OpId::convolution_epilogue, with_relu, {picture(t), T::ones({3, 3, 2, 2}, t)});
       }},
      {OpId::pack_weights,
       [](DType t) -> T {
         if (size_of(t) < 4 || !is_floating(t)) throw TypeError("pack_weights: kernels read packed f32 and f64 only");
         core::ProductAttributes product;
         product.left = {64, 3};
         product.weights = {3, 4};
         product.bytes = 48;
         return core::emit(OpId::pack_weights, product, {T::ones({3, 4}, t)});
       }},
  };
  return list;
}

std::optional<Application> find(const Value& root, OpId op) {
  std::vector<core::Node*> stack{root.node()};
  std::unordered_set<core::Node*> seen;
  while (!stack.empty()) {
    core::Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Value& input : node->inputs()) stack.push_back(input.node());
    if (node->op() != op) continue;
    Application found;
    found.attributes = node->attributes();
    for (const Value& input : node->inputs()) {
      found.inputs.push_back(input.dtype());
      found.operands.push_back({input.dtype(), input.shape(), false});
    }
    for (const core::Result& result : node->results()) {
      found.outputs.push_back(result.type.dtype);
      found.results.push_back(result.type);
    }
    return found;
  }
  return std::nullopt;
}

Value applied(const core::OpDef& def, DType type) {
  if (!def.is(core::Traits::elementwise)) return samples().at(def.id)(type);
  Value operands[] = {line(type), line(type), line(type)};
  return core::emit_elementwise(def.id, std::span(operands, static_cast<std::size_t>(def.min_inputs)));
}

}  // namespace

bool has_sample(const core::OpDef& def) { return def.is(core::Traits::elementwise) || samples().contains(def.id); }

std::optional<Application> sample(const core::OpDef& def, DType type) {
  // Functions that see complex numbers as their parts are not operators that take them.
  const bool truths = def.is(core::Traits::elementwise) && def.domain == core::Domain::logical;
  if (is_complex(type) && !truths && !def.is(core::Traits::takes_complex)) return std::nullopt;
  try {
    return find(applied(def, type), def.id);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace tyto::docs
