// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/distributed.hpp> and docs/distributed.md: a model, its loss, data, and a
// checkpoint.
#pragma once

#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace context {
extern const tyto::distributed::Group group;
extern const int left, right;
using Lazily = tyto::Tensor<tyto::Lazy>;
extern const tyto::nn::Sequential model;
extern tyto::nn::Descent descent;
extern tyto::nn::Checkpoint checkpoint;
extern const Lazily images, labels, x, t;
Lazily objective(const Lazily& in, const Lazily& target);
}  // namespace context
