// SPDX-License-Identifier: MIT
// Definitions for the example of <tyto/vmap.hpp>: points, weights, and the loss of one example.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> points, others, weights, examples;
tyto::Tensor<tyto::Lazy> loss(const tyto::Tensor<tyto::Lazy>& w, const tyto::Tensor<tyto::Lazy>& example);
}  // namespace context
