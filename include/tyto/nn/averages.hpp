// SPDX-License-Identifier: MIT
// Sums over updates: averaged weights, and gradients gathered over several batches.
#pragma once

#include <concepts>
#include <optional>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

class Module;

/// The kind of average: with a decay, decay * average + (1 - decay) * weights; without one, all weights alike (SWA).
struct AverageOptions {
  std::optional<double> decay = {};  ///< how much of the average stays at an update; by default all weigh the same
};
/// Averages of a model's states over updates, as states of their own; integers are copied. A state that is given under
/// several names is averaged once, under the first.
///
///     nn::AveragedWeights average(model.named_states(), {.decay = 0.999});
///     average.update();    // after descent.update(...), in a compiled step too
///     average.exchange();  // the model has the averages; once more, and it has its own weights again
class TYTO_API AveragedWeights {
 public:
  explicit AveragedWeights(NamedList<Tensor<Any>> states, const AverageOptions& options = {});
  template <std::derived_from<Module> M>
  explicit AveragedWeights(const M&, const AverageOptions& = {}) = delete;  // of model.named_states()

  /// Adds the current states to the averages; the first call copies them.
  void update();
  /// Exchanges the model's states and their averages.
  void exchange();
  /// The averages under the names of the states, and "count".
  NamedList<Tensor<Any>> state() const;

 private:
  AverageOptions options_;
  NamedList<Tensor<Any>> states_;
  NamedList<Tensor<Any>> averages_;
  Tensor<Any> count_;
};

/// Gradients accumulated over several batches, for one update by their mean.
///
///     nn::GradientSum gradients;
///     auto gather = compile([&](Tensor x, Tensor t) {
///       auto [loss, values] = value_and_grad(objective, model.parameters())(x, t);
///       gradients.add(values);
///       return loss;
///     });
///     descent.update(model.parameters(), gradients.take_mean());  // after some batches
class TYTO_API GradientSum {
 public:
  /// Always gradients of the same parameters in the same order.
  template <class M>
  void add(const std::vector<Tensor<M>>& gradients) {
    std::vector<Tensor<Any>> given;
    for (const Tensor<M>& gradient : gradients) given.emplace_back(gradient.value());
    add_all(given);
  }
  /// The mean of what was added since it was last taken. Throws GraphError when nothing was ever added.
  std::vector<Tensor<Any>> take_mean();

 private:
  void add_all(const std::vector<Tensor<Any>>& gradients);

  std::vector<Tensor<Any>> sums_;
  Tensor<Any> count_;
};

}  // namespace TYTO_API
}  // namespace tyto
