// SPDX-License-Identifier: MIT
// Metrics of batches added up in double, weighted by samples.
#include "tyto/nn/batch_means.hpp"

#include "core/value/text.hpp"
#include "tyto/nn/training.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace detail {

void BatchMeans::add(const Figures& metrics, std::int64_t samples) {
  if (samples_ == 0) {  // the first batch, which may have no metrics
    sums_ = {};
    for (const Named<double>& metric : metrics) sums_.push_back({metric.name, 0});
  }
  bool same = metrics.size() == sums_.size();
  for (std::size_t i = 0; same && i < metrics.size(); ++i) same = metrics[i].name == sums_[i].name;
  if (!same) {
    std::string first, here;
    for (const Named<double>& sum : sums_) first += (first.empty() ? "" : ", ") + sum.name;
    for (const Named<double>& metric : metrics) here += (here.empty() ? "" : ", ") + metric.name;
    const auto or_none = [](const std::string& names) { return names.empty() ? "none" : names; };
    core::throw_error<ValueError>("mean_over_batches: the metrics are ", or_none(first), " in the first batch and ",
                                  or_none(here), " in another; each batch must have the same");
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    sums_[i].value += metrics[i].value * static_cast<double>(samples);
  }
  samples_ += samples;
}

Figures BatchMeans::means() const {
  if (samples_ == 0) throw ValueError("mean_over_batches: the batches have no samples");
  Figures means = sums_;
  for (Named<double>& mean : means) mean.value /= static_cast<double>(samples_);
  return means;
}

double metric_value(const std::string& name, const Tensor<Any>& metric) {
  if (metric.size() != 1) {
    core::throw_error<ShapeError>("mean_over_batches: '", name, "' must be one number, not of shape ", metric.shape());
  }
  return loss_value(metric);
}

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
