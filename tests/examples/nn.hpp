// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/nn/...>: a model, its loss on a batch, its descent, and data.
#pragma once

#include <vector>

#include <tyto/nn.hpp>

namespace context {
extern tyto::nn::Sequential model, head;
extern tyto::nn::Descent descent;
extern const tyto::Tensor<tyto::Eager> inputs, targets;
extern const double validation_loss;
extern const tyto::Tensor<tyto::Lazy> x, t, logits, images, labels, memory, is_word;
extern const std::vector<tyto::Tensor<tyto::Lazy>> hidden_weights, parameters, gradients;
extern tyto::nn::LossScale scale;
extern tyto::nn::TrainingOptions options;
extern tyto::nn::Batches<tyto::Tensor<tyto::Lazy>> held_back;
tyto::Tensor<tyto::Lazy> compiled_loss(const tyto::Tensor<tyto::Lazy>& x, const tyto::Tensor<tyto::Lazy>& t);
tyto::NamedList<tyto::Tensor<tyto::Lazy>> losses_by_name(const tyto::Tensor<tyto::Lazy>& x,
                                                         const tyto::Tensor<tyto::Lazy>& t);
double accuracy(const tyto::nn::Sequential& model);
tyto::Tensor<tyto::Lazy> objective(const tyto::Tensor<tyto::Lazy>& x, const tyto::Tensor<tyto::Lazy>& t);
tyto::Tensor<tyto::Lazy> step(const tyto::Tensor<tyto::Lazy>& x, const tyto::Tensor<tyto::Lazy>& t);
}  // namespace context
