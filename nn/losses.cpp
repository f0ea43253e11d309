// SPDX-License-Identifier: MIT
// Losses of numbers and pairs.
#include "tyto/nn/losses.hpp"

#include <cmath>
#include <numbers>

#include "nn/loss_parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

void check_bend(const char* loss, const char* name, double value) {
  if (!(value > 0)) core::throw_error<ValueError>(loss, ": ", name, " = ", value, " must be positive");
}

}  // namespace

Tensor<Any> squared_error(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction) {
  check_pair("squared_error", x, t);
  if (const auto found = core::in_f32(&squared_error, x, t, reduction)) return *found;
  return reduced(square(x - t), reduction);
}

Tensor<Any> absolute_error(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction) {
  check_pair("absolute_error", x, t);
  if (const auto found = core::in_f32(&absolute_error, x, t, reduction)) return *found;
  return reduced(abs(x - t), reduction);
}

Tensor<Any> huber(const Tensor<Any>& x, const Tensor<Any>& t, double delta, Reduction reduction) {
  check_pair("huber", x, t);
  check_bend("huber", "delta", delta);
  if (const auto found = core::in_f32(&huber, x, t, delta, reduction)) return *found;
  // The square of the part up to delta, and the straight part beyond it; without a distance, which has no curvature at
  // 0.
  const Tensor<Any> error = x - t, bent = clip(error, -delta, delta);
  return reduced(bent * (error - 0.5 * bent), reduction);
}

Tensor<Any> smooth_l1(const Tensor<Any>& x, const Tensor<Any>& t, double beta, Reduction reduction) {
  check_pair("smooth_l1", x, t);
  if (beta == 0) return absolute_error(x, t, reduction);
  check_bend("smooth_l1", "beta", beta);
  if (const auto found = core::in_f32(&smooth_l1, x, t, beta, reduction)) return *found;
  return huber(x, t, beta, reduction) / beta;
}

Tensor<Any> poisson_nll(const Tensor<Any>& x, const Tensor<Any>& t, const PoissonOptions& o) {
  check_pair("poisson_nll", x, t);
  if (const auto found = core::in_f32(&poisson_nll, x, t, o)) return *found;
  Tensor<Any> losses = o.log_input ? exp(x) - t * x : x - t * log(x + o.epsilon);
  if (o.full) {
    const Tensor<Any> count = maximum(t, 1.0);
    const Tensor<Any> stirling = count * log(count) - count + 0.5 * log(2 * std::numbers::pi * count);
    losses = losses + where(greater(t, 1.0), stirling, 0.0);
  }
  return reduced(losses, o.reduction);
}

Tensor<Any> gaussian_nll(const Tensor<Any>& x, const Tensor<Any>& t, const Tensor<Any>& variance,
                         const GaussianOptions& o) {
  check_pair("gaussian_nll", x, t);
  if (const auto found = core::in_f32(&gaussian_nll, x, t, variance, o)) return *found;
  const bool one_a_row = x.ndim() > 0 && variance.shape() == Shape(std::span(x.shape().data(), x.shape().size() - 1));
  const Tensor<Any> spread = one_a_row ? expand_dims(variance, -1) : variance;
  // The amount by which a too small variance is raised is a constant: the gradient is that of the variance itself.
  const Tensor<Any> raised = spread + stop_gradient(maximum(o.epsilon - spread, 0.0));
  Tensor<Any> losses = 0.5 * (log(raised) + square(x - t) / raised);
  if (o.full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(losses, o.reduction);
}

Tensor<Any> hinge(const Tensor<Any>& x, const Tensor<Any>& t, const MarginOptions& o) {
  check_pair("hinge", x, t);
  if (const auto found = core::in_f32(&hinge, x, t, o)) return *found;
  return reduced(relu(o.margin - t * x), o.reduction);
}

Tensor<Any> hinge_embedding(const Tensor<Any>& x, const Tensor<Any>& t, const MarginOptions& o) {
  check_pair("hinge_embedding", x, t);
  if (const auto found = core::in_f32(&hinge_embedding, x, t, o)) return *found;
  return reduced(where(equal(t, 1), x, relu(o.margin - x)), o.reduction);
}

Tensor<Any> margin_ranking(const Tensor<Any>& a, const Tensor<Any>& b, const Tensor<Any>& t, const MarginOptions& o) {
  check_pair("margin_ranking", a, b);
  check_pair("margin_ranking", a, t);
  if (const auto found = core::in_f32(&margin_ranking, a, b, t, o)) return *found;
  return reduced(relu(o.margin - t * (a - b)), o.reduction);
}

Tensor<Any> cosine_embedding(const Tensor<Any>& a, const Tensor<Any>& b, const Tensor<Any>& t, const MarginOptions& o) {
  check_pair("cosine_embedding", a, b);
  Shape rows = a.shape();
  if (rows.size() > 0) rows = Shape(std::span(a.shape().data(), a.shape().size() - 1));
  if (t.shape() != rows) {
    core::throw_error<ShapeError>("cosine_embedding: the target ", t.shape(), " must be ", rows,
                                  ", a number for each of the vectors ", a.shape());
  }
  if (const auto found = core::in_f32(&cosine_embedding, a, b, t, o)) return *found;
  constexpr double tiny = 1e-12;
  const Tensor<Any> lengths = (sum(square(a), -1) + tiny) * (sum(square(b), -1) + tiny);
  const Tensor<Any> cosine = sum(a * b, -1) * rsqrt(lengths);
  return reduced(where(equal(t, 1), 1.0 - cosine, relu(cosine - o.margin)), o.reduction);
}

Tensor<Any> triplet_margin(const Tensor<Any>& anchor, const Tensor<Any>& positive, const Tensor<Any>& negative,
                           const TripletOptions& o) {
  check_pair("triplet_margin", anchor, positive);
  check_pair("triplet_margin", anchor, negative);
  if (const auto found = core::in_f32(&triplet_margin, anchor, positive, negative, o)) return *found;
  const auto distance = [&](const Tensor<Any>& a, const Tensor<Any>& b) { return pairwise_distance(a, b, 1e-6, o.p); };
  Tensor<Any> apart = distance(anchor, negative);
  if (o.swap) apart = minimum(apart, distance(positive, negative));
  return reduced(relu(o.margin + distance(anchor, positive) - apart), o.reduction);
}

Tensor<Any> cosine_similarity(const Tensor<Any>& a, const Tensor<Any>& b, std::int64_t axis, double epsilon) {
  check_pair("cosine_similarity", a, b);
  if (const auto found = core::in_f32(&cosine_similarity, a, b, axis, epsilon)) return *found;
  const Tensor<Any> lengths = maximum(l2_norm(a, axis), epsilon) * maximum(l2_norm(b, axis), epsilon);
  return sum(a * b, axis) / lengths;
}

Tensor<Any> pairwise_distance(const Tensor<Any>& a, const Tensor<Any>& b, double epsilon, double p) {
  check_pair("pairwise_distance", a, b);
  check_bend("pairwise_distance", "p", p);
  if (const auto found = core::in_f32(&pairwise_distance, a, b, epsilon, p)) return *found;
  return linalg::vector_norm(a - b + epsilon, p, -1);
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
