// SPDX-License-Identifier: MIT
// Clips gradients by value and by norm.
#include "tyto/nn/clipping.hpp"

#include "core/value/text.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace detail {

// A norm of zero gives an infinite quotient, of which the factor takes the 1.
Tensor<Any> clipping_factor(const Tensor<Any>& norm, double limit) { return minimum(limit / norm, 1.0); }

namespace {
void check_limit(const char* function, double limit) {
  if (!(limit > 0)) core::throw_error<ValueError>(function, ": the limit ", limit, " must be positive");
}
Tensor<Any> clipped(const Tensor<Any>& gradient, double limit) {
  if (const auto found = core::in_f32(&clipped, gradient, limit)) return *found;
  return gradient * clipping_factor(l2_norm(gradient), limit);
}
}  // namespace

double checked_norm_limit(double limit) {
  check_limit("clip_by_global_norm", limit);
  return limit;
}

std::vector<Tensor<Any>> clip_by_value(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_value", limit);
  std::vector<Tensor<Any>> out;
  for (const Tensor<Any>& gradient : gradients) out.push_back(clip(gradient, -limit, limit));
  return out;
}

std::vector<Tensor<Any>> clip_by_norm(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_norm", limit);
  std::vector<Tensor<Any>> out;
  for (const Tensor<Any>& gradient : gradients) out.push_back(clipped(gradient, limit));
  return out;
}

std::vector<Tensor<Any>> clip_by_global_norm(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_global_norm", limit);
  if (gradients.empty()) return {};
  Tensor<Any> total;
  const std::vector<Tensor<Any>> wide = core::with_tensors(gradients, core::widened);
  for (const Tensor<Any>& gradient : wide) {
    const Tensor<Any> squares = l2_norm_sqr(gradient);
    total = !total.defined() ? squares : total + squares;
  }
  const Tensor<Any> scale = clipping_factor(sqrt(total), limit);
  std::vector<Tensor<Any>> out;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    out.emplace_back(core::narrowed(wide[i] * cast(scale, wide[i].dtype()), gradients[i].dtype()));
  }
  return out;
}

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
