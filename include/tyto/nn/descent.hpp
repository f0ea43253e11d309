// Gradient descent: a rule with its memories, which updates the parameters that it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/nn/rates.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// What an update rule is given for one parameter.
struct UpdateContext {
  const Tensor<Any>& parameter;
  const Tensor<Any>& gradient;
  /// The optimiser state of this parameter; the rule replaces its values by the new ones.
  std::span<Tensor<Any>> state;
  /// How many updates there were, this one included.
  const Tensor<Any>& count;
  const Tensor<Any>& rate;
};

/// How a parameter changes: `change` is subtracted from it. One memory of the parameter's shape for each name, and one
/// number (a 0-d tensor) for each of `numbers`, which stand behind them; all are zero at first.
///
/// With `rows` the rule is of all parameters together: `change` is given them as one vector, their gradients too, and
/// memories have that many rows as long as it; 0 is the vector itself.
struct DescentRule {
  std::string name;
  std::vector<std::string> state_names;
  LearningRate rate;
  std::function<Tensor<Any>(const UpdateContext&)> change;
  std::vector<std::string> numbers = {};
  std::optional<std::vector<std::int64_t>> rows = {};  ///< of each memory
};

/// A rule with its optimiser state, whose tensors are states like the parameters: compiled steps update them in place,
/// and checkpoints hold them. The count of updates is one of them, so that a compiled step corrects its bias by the
/// true count.
///
///     nn::Descent descent = nn::adam({.rate = 0.001});
///     auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
///     descent.update(model.parameters(), gradients);
class TYTO_API Descent {
 public:
  explicit Descent(DescentRule rule);
  Descent(Descent&&) = default;
  Descent& operator=(Descent&&) = default;

  /// Has these parameters go by another rule, with a rate and a decay of its own; the count of updates is shared.
  /// Before the first update only.
  ///
  ///     nn::Descent descent = nn::adamw({.rate = 1e-4}).use(nn::adamw({.rate = 1e-3}), head.parameters());
  template <class P>
  Descent& use(Descent other, const std::vector<Tensor<P>>& parameters) & {
    std::vector<Tensor<Any>> states;
    for (const Tensor<P>& parameter : parameters) states.emplace_back(parameter.value());
    add_group(std::move(other), states);
    return *this;
  }
  template <class P>
  Descent use(Descent other, const std::vector<Tensor<P>>& parameters) && {
    return std::move(use(std::move(other), parameters));
  }

  /// Assigns every parameter its next value. Always the same parameters in the same order.
  template <class P, class G>
  void update(const std::vector<Tensor<P>>& parameters, const std::vector<Tensor<G>>& gradients) {
    update_where(Tensor<Any>(), parameters, gradients);
  }
  /// The same where `condition`, one truth value, is true; where it is false nothing changes, the count neither.
  template <class C, class P, class G>
  void update_where(const Tensor<C>& condition, const std::vector<Tensor<P>>& parameters,
                    const std::vector<Tensor<G>>& gradients) {
    std::vector<Tensor<Any>> states;
    std::vector<Tensor<Any>> slopes;
    for (const Tensor<P>& parameter : parameters) states.emplace_back(parameter.value());
    for (const Tensor<G>& gradient : gradients) slopes.emplace_back(gradient.value());
    apply(Tensor<Any>(condition.value()), states, slopes);
  }

  /// The states under names, made if there were none yet: "count", and "NAME.STATE" for each state of each parameter.
  NamedList<Tensor<Any>> state(const NamedList<Tensor<Any>>& parameters);
  /// How many updates were made.
  std::int64_t count() const;
  const std::string& name() const { return rules_[0].name; }

 private:
  void add_group(Descent other, const std::vector<Tensor<Any>>& parameters);
  const DescentRule& rule_of(const Tensor<Any>& parameter) const;
  void apply(const Tensor<Any>& condition, const std::vector<Tensor<Any>>& parameters,
             const std::vector<Tensor<Any>>& gradients);
  void prepare(const std::vector<Tensor<Any>>& parameters);
  std::vector<Tensor<Any>> memories_of(const DescentRule& rule, const Shape& shape, DType type) const;
  bool is_joint() const { return rules_[0].rows.has_value(); }

  struct Group {
    Tensor<Any> parameter;
    std::size_t rule;
  };
  std::vector<DescentRule> rules_;  // the first one is everybody's that no group names
  std::vector<Group> groups_;
  Tensor<Any> count_;
  std::vector<Shape> shapes_;  // of the parameters of the first update
  std::vector<std::vector<Tensor<Any>>> states_;
};

}  // namespace TYTO_API
}  // namespace tyto
