// SPDX-License-Identifier: MIT
// Averages weights and accumulates gradients.
#include "tyto/nn/averages.hpp"

#include "nn/distinct_states.hpp"
#include "nn/layer_parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"

namespace tyto TYTO_API {
namespace nn {

AveragedWeights::AveragedWeights(NamedList<Tensor<Any>> states, const AverageOptions& options) : options_(options) {
  if (options.decay && !(*options.decay >= 0 && *options.decay < 1)) {
    core::throw_error<ValueError>("AveragedWeights: the decay ", *options.decay, " must be in [0, 1)");
  }
  DistinctStates listed;
  for (Named<Tensor<Any>>& state : states) {
    if (listed.add(state.value)) states_.push_back(std::move(state));
  }
  for (const Named<Tensor<Any>>& state : states_) {
    const Tensor<Any> now = cast(stop_gradient(state.value), statistics_type(state.value.dtype()));
    averages_.push_back({state.name, Tensor<Any>::persistent(now, "average")});
  }
  count_ = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "averages");
}

void AveragedWeights::update() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Tensor<Any>& average = averages_[i].value;
    const Tensor<Any> now = cast(states_[i].value, average.dtype());
    if (!is_floating(average.dtype())) {
      assign(average, now);
      continue;
    }
    const Tensor<Any> before = cast(count_, average.dtype());
    // The first time all. A choice between two plain numbers would be in f32.
    const Tensor<Any> share =
        options_.decay ? 1.0 - *options_.decay * cast(greater(before, 0.0), average.dtype()) : 1.0 / (before + 1.0);
    assign(average, average + share * (now - average));
  }
  assign(count_, count_ + 1);
}

void AveragedWeights::exchange() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Tensor<Any> average = copy(stop_gradient(averages_[i].value));
    assign(averages_[i].value, cast(states_[i].value, average.dtype()));
    assign(states_[i].value, cast(average, states_[i].value.dtype()));
  }
}

NamedList<Tensor<Any>> AveragedWeights::state() const {
  NamedList<Tensor<Any>> list = averages_;
  list.push_back({"count", count_});
  return list;
}

void GradientSum::add_all(const std::vector<Tensor<Any>>& gradients) {
  if (!count_.defined()) {
    for (const Tensor<Any>& gradient : gradients) {
      const Tensor<Any> zero = Tensor<Any>::zeros(gradient.shape(), statistics_type(gradient.dtype()));
      sums_.push_back(Tensor<Any>::persistent(zero, "gradient_sum"));
    }
    count_ = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "gradients");
  }
  if (gradients.size() != sums_.size()) {
    core::throw_error<ValueError>("GradientSum: given ", gradients.size(), " gradients, at first there were ",
                                  sums_.size());
  }
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (gradients[i].shape() != sums_[i].shape()) {
      core::throw_error<ShapeError>("GradientSum: gradient ", i, " has shape ", gradients[i].shape(),
                                    ", at first it had ", sums_[i].shape());
    }
    assign(sums_[i], sums_[i] + cast(stop_gradient(gradients[i]), sums_[i].dtype()));
  }
  assign(count_, count_ + 1);
}

std::vector<Tensor<Any>> GradientSum::take_mean() {
  if (!count_.defined()) throw GraphError("GradientSum: nothing was added yet");
  std::vector<Tensor<Any>> means;
  for (const Tensor<Any>& sum : sums_) {
    means.push_back(sum / maximum(cast(count_, sum.dtype()), 1.0));
    assign(sum, zeros_like(sum));
  }
  assign(count_, Tensor<Any>::zeros({}, DType::i64));
  return means;
}

}  // namespace nn
}  // namespace TYTO_API
