// SPDX-License-Identifier: MIT
// Clips gradients: by value, by norm, and by the norm of all of them.
#pragma once

#include <algorithm>
#include <vector>

#include "tyto/distributed.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {
std::vector<Tensor<Any>> clip_by_value(const std::vector<Tensor<Any>>& gradients, double limit);
std::vector<Tensor<Any>> clip_by_norm(const std::vector<Tensor<Any>>& gradients, double limit);
std::vector<Tensor<Any>> clip_by_global_norm(const std::vector<Tensor<Any>>& gradients, double limit);
/// The factor that scales gradients of this norm to the limit.
Tensor<Any> clipping_factor(const Tensor<Any>& norm, double limit);
TYTO_API double checked_norm_limit(double limit);

template <class M>
std::vector<Tensor<M>> clipped(std::vector<Tensor<Any>> (*how)(const std::vector<Tensor<Any>>&, double),
                               const std::vector<Tensor<M>>& gradients, double limit) {
  std::vector<Tensor<Any>> given;
  for (const Tensor<M>& gradient : gradients) given.emplace_back(gradient.value());
  std::vector<Tensor<M>> out;
  for (const Tensor<Any>& gradient : how(given, limit)) out.emplace_back(gradient.value());
  return out;
}
}  // namespace detail

/// Every element limited to [-limit, limit].
template <class M>
[[nodiscard]] std::vector<Tensor<M>> clip_by_value(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_value, gradients, limit);
}
/// Each gradient on its own scaled down to the norm `limit` if it is longer.
template <class M>
[[nodiscard]] std::vector<Tensor<M>> clip_by_norm(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_norm, gradients, limit);
}
/// All gradients scaled by one factor, so that together they are no longer than `limit`.
template <class M>
[[nodiscard]] std::vector<Tensor<M>> clip_by_global_norm(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_global_norm, gradients, limit);
}
/// Limits the norm of the sums over processes, once the update has taken them.
template <class M>
[[nodiscard]] distributed::Weighted<M> clip_by_global_norm(distributed::Weighted<M> gradients, double limit) {
  gradients.norm_limit = std::min(gradients.norm_limit.value_or(limit), detail::checked_norm_limit(limit));
  return gradients;
}
/// An element of a sum over processes, and its norm, are known to the update alone: limit all by clip_by_global_norm,
/// or the gradients that distributed::average sums.
template <class M>
void clip_by_value(const distributed::Weighted<M>& gradients, double limit) = delete;
template <class M>
void clip_by_norm(const distributed::Weighted<M>& gradients, double limit) = delete;

}  // namespace TYTO_API
}  // namespace tyto
