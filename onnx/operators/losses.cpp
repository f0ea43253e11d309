// SPDX-License-Identifier: MIT
// Losses over classes.
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// Minus the logarithm of the labelled class's probability, weighted by class; what is labelled `ignore_index` counts
// for nothing, also not in the mean.
Array negative_log_likelihood(const OperatorCall& call, const Array& log_probability, const Array& labels,
                              const Array& weights) {
  const std::string_view how = call.text("reduction", "mean");
  Array classes = cast(labels, DType::i64), kept;
  if (call.has("ignore_index")) {
    kept = classes != call.integer("ignore_index", 0);
    classes = where(kept, classes, 0);
  }
  Array loss = -squeeze(take_along_axis(log_probability, expand_dims(classes, 1), 1), 1);
  Array weight;
  if (weights.defined()) weight = take(weights, classes, 0);
  if (kept.defined()) {
    const Array ones = cast(kept, log_probability.dtype());
    weight = weight.defined() ? weight * ones : ones;
  }
  if (weight.defined()) loss = loss * weight;
  if (how == "none") return loss;
  if (how == "sum") return sum(loss);
  if (how == "mean") return weight.defined() ? sum(loss) / sum(weight) : mean(loss);
  call.refuse("reduction '", how, "'; known are none, sum and mean");
}

Outputs likelihood_loss(const OperatorCall& call) {
  return {negative_log_likelihood(call, call[0], call[1], call.optional(2))};
}

Outputs cross_entropy_loss(const OperatorCall& call) {
  const Array log_probability = log_softmax(call[0], 1);
  return {negative_log_likelihood(call, log_probability, call[1], call.optional(2)), log_probability};
}

constexpr OperatorRow loss_table[] = {
    {"NegativeLogLikelihoodLoss", 12, likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, cross_entropy_loss},
};

}  // namespace

std::span<const OperatorRow> loss_rows() { return loss_table; }

}  // namespace tyto::onnx
