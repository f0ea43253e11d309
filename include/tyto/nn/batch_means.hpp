// SPDX-License-Identifier: MIT
// Means of metrics over a data set, each batch weighing as many samples as it has.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tyto/nn/batches.hpp"
#include "tyto/nn/history.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {

/// Sums of metrics and of the samples that they are means of.
class TYTO_API BatchMeans {
 public:
  /// Throws ValueError unless the names are those of the first batch.
  void add(const Figures& metrics, std::int64_t samples);
  /// Throws ValueError when nothing was added.
  Figures means() const;

 private:
  Figures sums_;
  std::int64_t samples_ = 0;
};

/// A metric as a number. Throws ShapeError naming it when it is more than one.
TYTO_API double metric_value(const std::string& name, const Tensor<Any>& metric);

inline double metric_value(const std::string&, double metric) { return metric; }
template <class M>
double metric_value(const std::string& name, const Tensor<M>& metric) {
  return metric_value(name, Tensor<Any>(metric.value()));
}

template <class V>
Figures metric_values(const NamedList<V>& metrics) {
  Figures values;
  for (const Named<V>& metric : metrics) values.push_back({metric.name, metric_value(metric.name, metric.value)});
  return values;
}

template <class R>
struct IsNamedList : std::false_type {};
template <class V>
struct IsNamedList<NamedList<V>> : std::true_type {};

}  // namespace detail

/// The mean of `metric(inputs, targets)`, itself a mean over its batch, over what is left of the epoch: a whole one
/// where the batches stand at its beginning or its end. Each batch counts by its samples, so that a last one of fewer
/// does not weigh as much as the others. A metric is one number, and its mean a double; a `NamedList` of numbers gives
/// Figures. With BatchOptions `.part` and `.parts` each process gets the mean over its own samples. In lazy mode hand
/// over a compiled function.
///
///     const double loss = nn::mean_over_batches(compiled_loss, held_back);
///     options.validate = [&] { return nn::mean_over_batches(losses_by_name, held_back); };
template <class F, class T>
auto mean_over_batches(F&& metric, Batches<T>& batches) {
  using Result = std::remove_cvref_t<decltype(metric(std::declval<const T&>(), std::declval<const T&>()))>;
  detail::BatchMeans means;
  if (batches.batches_left() == 0) (void)batches.next();
  for (const auto& [inputs, targets] : batches) {
    const std::int64_t samples = inputs.shape()[0];
    if constexpr (detail::IsNamedList<Result>::value) {
      means.add(detail::metric_values(metric(inputs, targets)), samples);
    } else {
      means.add({{"metric", detail::metric_value("metric", metric(inputs, targets))}}, samples);
    }
  }
  if constexpr (detail::IsNamedList<Result>::value) {
    return means.means();
  } else {
    return means.means()[0].value;
  }
}

}  // namespace TYTO_API
}  // namespace tyto
