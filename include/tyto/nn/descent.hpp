// Gradient descent: rules that update variables, learning rates that change, gradients kept within limits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// A learning rate: a number, or a function of how many updates were made before (a floating 0-d tensor).
class TYTO_API Rate {
 public:
  using Schedule = std::function<Tensor<Any>(const Tensor<Any>& count)>;
  /// Throws ValueError unless it is finite and at least 0.
  Rate(double constant);
  Rate(Schedule schedule) : schedule_(std::move(schedule)) {}

  /// The rate after `count` updates, as a 0-d tensor or a number.
  Tensor<Any> at(const Tensor<Any>& count) const;

 private:
  double constant_ = 0;
  Schedule schedule_;
};

/// first / (1 + decay * count).
Rate inverse_decay(double first, double decay);
/// first * exp(-decay * count).
Rate exponential_decay(double first, double decay);
/// From `first` down to `last` along half a cosine in `steps` updates, then `last`.
Rate cosine_decay(double first, double last, std::int64_t steps);
/// The rate of the last entry whose count is reached: piecewise({{0, 0.1}, {1000, 0.01}}).
Rate piecewise(std::vector<std::pair<std::int64_t, double>> entries);
/// From 0 up in a straight line for `steps` updates, then as `rate`, which counts from the first update on.
Rate warm_up(std::int64_t steps, Rate rate);

/// What a rule is given for one parameter.
struct UpdateStep {
  const Tensor<Any>& parameter;
  const Tensor<Any>& gradient;
  /// What the rule remembers of this parameter; it puts the new values in place of the old.
  std::span<Tensor<Any>> memories;
  /// How many updates there were, this one included.
  const Tensor<Any>& count;
  const Tensor<Any>& rate;
};

/// How a parameter changes: `change` is subtracted from it. One memory of the parameter's shape for each name, zero at
/// first.
struct DescentRule {
  std::string name;
  std::vector<std::string> memories;
  Rate rate;
  std::function<Tensor<Any>(const UpdateStep&)> change;
};

/// A rule with its memories, which are states like the parameters: compiled steps update them in place, and checkpoints
/// hold them. The count of updates is one of them, so that a compiled step corrects its bias by the true count.
///
///     nn::Descent descent = nn::adam({.rate = 0.001});
///     auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
///     descent.update(model.parameters(), gradients);
class TYTO_API Descent {
 public:
  explicit Descent(DescentRule rule);
  Descent(Descent&&) = default;
  Descent& operator=(Descent&&) = default;

  /// Assigns every parameter its next value. Always the same parameters in the same order.
  template <class P, class G>
  void update(const std::vector<Tensor<P>>& parameters, const std::vector<Tensor<G>>& gradients) {
    std::vector<Tensor<Any>> states;
    std::vector<Tensor<Any>> slopes;
    for (const Tensor<P>& parameter : parameters) states.emplace_back(parameter.value());
    for (const Tensor<G>& gradient : gradients) slopes.emplace_back(gradient.value());
    apply(states, slopes);
  }

  /// The states under names, made if there were none yet: "count", and "NAME.MEMORY" for each parameter.
  NamedList<Tensor<Any>> state(const NamedList<Tensor<Any>>& parameters);
  /// How many updates were made.
  std::int64_t count() const;
  const std::string& name() const { return rule_.name; }

 private:
  void apply(const std::vector<Tensor<Any>>& parameters, const std::vector<Tensor<Any>>& gradients);
  void prepare(const std::vector<Tensor<Any>>& parameters);

  DescentRule rule_;
  Tensor<Any> count_;
  std::vector<std::vector<Tensor<Any>>> memories_;
};

struct SgdOptions {
  Rate rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< times the parameter, added to the gradient
};
/// w -= rate * v, v = momentum * v + gradient; with Nesterov's look ahead w -= rate * (gradient + momentum * v).
Descent sgd(const SgdOptions& options = {});

struct AdagradOptions {
  Rate rate = 0.01;
  double epsilon = 1e-10;
};
/// w -= rate * gradient / (sqrt(s) + epsilon), s the sum of all squared gradients.
Descent adagrad(const AdagradOptions& options = {});

struct RmspropOptions {
  Rate rate = 0.01;
  double decay = 0.99;
  double epsilon = 1e-8;
};
/// w -= rate * gradient / (sqrt(s) + epsilon), s the running mean of squared gradients.
Descent rmsprop(const RmspropOptions& options = {});

struct AdamOptions {
  Rate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
/// Adam (Kingma, Ba 2015): running means of the gradient and of its square, corrected for starting at zero.
Descent adam(const AdamOptions& options = {});

struct AdamwOptions {
  Rate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< times the rate and the parameter, subtracted beside Adam's change
};
/// Adam with weight decay of its own (Loshchilov, Hutter 2019).
Descent adamw(const AdamwOptions& options = {});

namespace detail {
std::vector<Tensor<Any>> clip_by_value(const std::vector<Tensor<Any>>& gradients, double limit);
std::vector<Tensor<Any>> clip_by_norm(const std::vector<Tensor<Any>>& gradients, double limit);
std::vector<Tensor<Any>> clip_by_global_norm(const std::vector<Tensor<Any>>& gradients, double limit);

template <class M>
std::vector<Tensor<M>> clipped(std::vector<Tensor<Any>> (*how)(const std::vector<Tensor<Any>>&, double),
                               const std::vector<Tensor<M>>& gradients, double limit) {
  std::vector<Tensor<Any>> given;
  for (const Tensor<M>& gradient : gradients) given.emplace_back(gradient.value());
  std::vector<Tensor<M>> out;
  for (const Tensor<Any>& gradient : how(given, limit)) out.emplace_back(gradient.value());
  return out;
}
}  // namespace detail

/// Every element limited to [-limit, limit].
template <class M>
std::vector<Tensor<M>> clip_by_value(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_value, gradients, limit);
}
/// Each gradient on its own scaled down to the norm `limit` if it is longer.
template <class M>
std::vector<Tensor<M>> clip_by_norm(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_norm, gradients, limit);
}
/// All gradients scaled by one factor, so that together they are no longer than `limit`.
template <class M>
std::vector<Tensor<M>> clip_by_global_norm(const std::vector<Tensor<M>>& gradients, double limit) {
  return detail::clipped(detail::clip_by_global_norm, gradients, limit);
}

}  // namespace TYTO_API
}  // namespace tyto
