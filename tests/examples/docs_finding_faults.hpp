// SPDX-License-Identifier: MIT
// Definitions for the examples of docs/finding_faults.md: a model, its loss, and data.
#pragma once

#include <iostream>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace context {
using Lazily = tyto::Tensor<tyto::Lazy>;
extern const tyto::nn::Sequential model;
extern tyto::nn::Descent descent;
extern tyto::nn::Batches<Lazily> batches;
extern const Lazily x;
Lazily loss(const Lazily& in);
Lazily step(const Lazily& in, const Lazily& target);
}  // namespace context
