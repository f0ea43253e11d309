// SPDX-License-Identifier: MIT
// Norms of weights by PyTorch's layout, and power iterations.
#include "tyto/nn/reparametrised.hpp"

#include <algorithm>

#include "nn/layer_parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

Tensor<Any> unit(const Tensor<Any>& x) {
  if (const auto found = core::in_f32(&unit, x)) return *found;
  return x / maximum(l2_norm(x), 1e-12);
}

bool is_weight(const Member& member) { return member.name() == "weight" && member.state().defined(); }

}  // namespace

NormedWeight::NormedWeight(const Members& members) {
  const auto own = std::find_if(members.begin(), members.end(), is_weight);
  if (own == members.end()) throw ValueError("a norm of weights: the layer has no state 'weight' of its own");
  weight_ = own->state();
  pytorch_axes_ = own->pytorch_axes();
  if (weight_.ndim() < 2) {
    core::throw_error<ShapeError>("a norm of weights: the weight ", weight_.shape(), " must have at least 2 axes");
  }
  const auto first = std::find(pytorch_axes_.begin(), pytorch_axes_.end(), 0);
  kept_ = pytorch_axes_.empty() ? 0 : first - pytorch_axes_.begin();
}

Tensor<Any> NormedWeight::lengths(const Tensor<Any>& weight) const {
  IntList others;
  for (std::int64_t axis = 0; axis < weight.ndim(); ++axis) {
    if (axis != kept_) others.push_back(axis);
  }
  return l2_norm(weight, Axes(others), true);
}

Tensor<Any> NormedWeight::matrix(const Tensor<Any>& weight) const {
  if (pytorch_axes_.empty()) return reshape(weight, {weight.shape()[0], -1});
  IntList order(pytorch_axes_.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[static_cast<std::size_t>(pytorch_axes_[i])] = static_cast<std::int64_t>(i);
  }
  return reshape(transpose(weight, order), {weight.shape()[static_cast<std::size_t>(kept_)], -1});
}

Tensor<Any> NormedWeight::of_length(const Tensor<Any>& direction, const Tensor<Any>& length) const {
  const auto scaled = [&](const Tensor<Any>& along, const Tensor<Any>& by) { return along * (by / lengths(along)); };
  if (const auto found = core::in_f32(scaled, direction, length)) return *found;
  return scaled(direction, length);
}

Tensor<Any> NormedWeight::over_largest(const Tensor<Any>& weight, const SpectralVectors& vectors) const {
  const auto divided = [&](const Tensor<Any>& by, const Tensor<Any>& left, const Tensor<Any>& right) {
    return by / dot(left, matmul(matrix(by), right));
  };
  const Tensor<Any> left = stop_gradient(vectors.left), right = stop_gradient(vectors.right);
  if (const auto found = core::in_f32(divided, weight, left, right)) return *found;
  return divided(weight, left, right);
}

Members with_weight(const Members& members, const Members& others) {
  Members list;
  for (const Member& member : members) {
    if (!is_weight(member)) list.push_back(member);
    else list.insert(list.end(), others.begin(), others.end());
  }
  return list;
}

SpectralVectors iterated(const Tensor<Any>& matrix, SpectralVectors vectors, std::int64_t iterations) {
  if (iterations < 1) core::throw_error<ValueError>("SpectralNorm: ", iterations, " iterations; at least 1 is needed");
  const Tensor<Any> fixed = stop_gradient(matrix);
  for (std::int64_t i = 0; i < iterations; ++i) {
    vectors.left = unit(matmul(fixed, vectors.right));
    vectors.right = unit(matmul(vectors.left, fixed));
  }
  return {stop_gradient(vectors.left), stop_gradient(vectors.right)};
}

SpectralVectors drawn_vectors(const Tensor<Any>& matrix) {
  const auto drawn = [&](std::int64_t length) {
    return unit(Tensor<Any>::normal({length}, {.dtype = matrix.dtype()}));
  };
  constexpr std::int64_t iterations = 15;
  return iterated(copy(matrix), {drawn(matrix.shape()[0]), drawn(matrix.shape()[1])}, iterations);
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
