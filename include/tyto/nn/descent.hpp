// SPDX-License-Identifier: MIT
// Gradient descent: a rule with its optimiser state, which updates the parameters that it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/distributed.hpp"
#include "tyto/graph.hpp"
#include "tyto/named.hpp"
#include "tyto/nn/module.hpp"
#include "tyto/nn/rates.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Arguments of an update rule for one parameter.
struct UpdateContext {
  const Tensor<Any>& parameter;  ///< before the update
  const Tensor<Any>& gradient;   ///< of the loss
  /// The optimiser state of this parameter; the rule replaces its values by the new ones.
  std::span<Tensor<Any>> state;
  /// How many updates of this parameter there were, this one included; empty if the rule does not ask for it.
  const Tensor<Any>& count;
  const Tensor<Any>& rate;  ///< learning rate of this update
};

/// How a parameter changes: `change` is subtracted from it. One state tensor of the parameter's shape for each name,
/// and one number (a 0-d tensor) for each of `numbers`, which stand behind them; all are zero at first, unless `first`
/// has another number under their name. A `counted` rule asks for the count of updates; each parameter has its own,
/// since one may join later than others.
///
/// `shaped` gives state tensors of other shapes, by the shape of the parameter; they stand behind those of
/// `state_names`.
///
/// A `joint` rule is of all parameters together: `change` is given them as one vector, their gradients too.
struct DescentRule {
  std::string name;                                                     ///< what pages and files call it
  std::vector<std::string> state_names;                                 ///< tensors that it keeps for each parameter
  LearningRate rate;                                                    ///< learning rate
  std::function<Tensor<Any>(const UpdateContext&)> change;              ///< what is subtracted from the parameter
  std::vector<std::string> numbers = {};                                ///< names of states that are single numbers
  std::function<NamedList<Shape>(const Shape& parameter)> shaped = {};  ///< states of shapes of their own
  bool counted = false;          ///< whether the rule asks how many updates there were
  bool joint = false;            ///< whether all parameters are updated at once
  NamedList<double> first = {};  ///< what states begin with, by name; others with 0
  bool elementwise = false;      ///< whether an element's change depends on its own values only, not on its position
};

/// The gradients of an update: whole ones, or the parts of each process, which the update sums over processes.
struct Gradients {
  template <class M>
  Gradients(const std::vector<Tensor<M>>& whole) : values(modeless(whole)) {}
  template <class M>
  Gradients(const distributed::Weighted<M>& given)
      : values(modeless(given.parts)), are_parts(true), norm_limit(given.norm_limit) {}
  template <class T>
  Gradients(const T&) = delete;  // a list of tensors: descent.update(model.parameters(), gradients)

  std::vector<Tensor<Any>> values;        ///< one for each parameter
  bool are_parts = false;                 ///< whether they are this process's, to be summed
  std::optional<double> norm_limit = {};  ///< of all sums together

  /// The same tensors.
  template <class M>
  static std::vector<Tensor<Any>> modeless(const std::vector<Tensor<M>>& tensors) {
    std::vector<Tensor<Any>> list;
    for (const Tensor<M>& each : tensors) list.emplace_back(each.value());
    return list;
  }
};

/// A rule with its optimiser state, whose tensors are states like the parameters: compiled steps update them in place,
/// and checkpoints hold them. Counts of updates are among them, so that a compiled step corrects its bias by the true
/// count and takes the rate that is due.
///
///     nn::Descent descent = nn::adam({.rate = 0.001});
///     auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
///     descent.update(model.parameters(), gradients);
class TYTO_API Descent {
 public:
  explicit Descent(DescentRule rule);
  Descent(Descent&&) = default;
  Descent& operator=(Descent&&) = default;

  /// Updates these parameters by another rule, with a rate and a decay of its own; the count that rates depend on is
  /// shared. Before their first update only.
  ///
  ///     nn::Descent descent = nn::adamw({.rate = 1e-4}).use(nn::adamw({.rate = 1e-3}), head.parameters());
  template <class P>
  Descent& use(Descent other, const std::vector<Tensor<P>>& parameters) & {
    add_group(std::move(other), Gradients::modeless(parameters));
    return *this;
  }
  template <class P>
  [[nodiscard]] Descent use(Descent other, const std::vector<Tensor<P>>& parameters) && {
    return std::move(use(std::move(other), parameters));
  }

  /// In a group of processes, each keeps the states of its part of every parameter of `least` elements or more whose
  /// rule is elementwise, updates that part, and gets the others' (ZeRO-1). update() then takes what
  /// distributed::weighted() yields, alone or by way of clip_by_global_norm and LossScale::step, and throws GraphError
  /// for gradients that were summed before. Before the first update only.
  ///
  ///     nn::Descent descent = nn::adam({.rate = 0.001}).shard();
  Descent& shard(std::int64_t least = 1 << 14) &;
  [[nodiscard]] Descent shard(std::int64_t least = 1 << 14) && { return std::move(shard(least)); }

  /// Assigns every parameter its next value. A parameter that was not there before, unfrozen say, begins with states of
  /// its own; one that is left out keeps them until it comes back. Rules of all parameters together want the same ones.
  /// Throws ValueError for an empty list, and GraphError for gradients that depend on a placeholder: see updates().
  template <class P>
  void update(const std::vector<Tensor<P>>& parameters, const Gradients& gradients) {
    update_where(Tensor<Any>(), parameters, gradients);
  }
  template <class P>
  void update(std::initializer_list<Tensor<P>> parameters, const Gradients& gradients) {
    update(std::vector<Tensor<P>>(parameters), gradients);
  }
  template <class M>
  void update(const std::vector<Tensor<M>>&) {
    static_assert(tyto::detail::always_false<M>, "update takes model.parameters(), and their gradients");
  }
  template <class M>
  void update(const M&, const Gradients&) {
    static_assert(tyto::detail::always_false<M>, "update takes model.parameters(), and their gradients");
  }
  /// The same where `condition`, one truth value, is true; where it is false nothing changes, the count neither.
  template <class C, class P>
  void update_where(const Tensor<C>& condition, const std::vector<Tensor<P>>& parameters, const Gradients& gradients) {
    apply(Tensor<Any>(condition.value()), Gradients::modeless(parameters), gradients, nullptr);
  }
  /// The next values, for an explicit graph that assigns them at the end of each run: `.updates =
  /// descent.updates(model.parameters(), gradients)` of its GraphSpec.
  template <class P>
  std::vector<Update> updates(const std::vector<Tensor<P>>& parameters, const Gradients& gradients) {
    std::vector<Update> list;
    apply(Tensor<Any>(), Gradients::modeless(parameters), gradients, &list);
    return list;
  }

  /// The states under names, made if there were none yet: "count" of all updates, on which the rate depends, and
  /// "NAME.STATE" for each state of each parameter. Throws GraphError for sharded states: see Checkpoint::add.
  NamedList<Tensor<Any>> state(const NamedList<Tensor<Any>>& parameters);
  /// A state, and the shape of the whole where it is a part of one.
  struct KeptState {
    Tensor<Any> value;                ///< as this process has it
    std::optional<Shape> whole = {};  ///< of what it is a part of
  };
  /// The same, for checkpoints.
  NamedList<KeptState> kept_states(const NamedList<Tensor<Any>>& parameters);
  /// How many updates were made.
  std::int64_t count() const;
  /// The rule's name.
  const std::string& name() const { return rules_[0].name; }

 private:
  void add_group(Descent other, const std::vector<Tensor<Any>>& parameters);
  std::size_t rule_of(const Tensor<Any>& parameter) const;
  void apply(const Tensor<Any>& condition, const std::vector<Tensor<Any>>& parameters, const Gradients& given,
             std::vector<Update>* instead);
  bool is_joint() const { return rules_[0].joint; }

  /// A parameter, and its state tensors, numbers and, of a counted rule, the count. `rule` is its number: rules move
  /// when groups are added.
  struct Trained {
    Tensor<Any> parameter;
    std::size_t rule = 0;
    std::vector<Tensor<Any>> states = {};
    std::int64_t part = 0;  // elements that this process keeps states of; 0: all
  };
  std::int64_t part_of(const DescentRule& rule, const Tensor<Any>& parameter) const;
  std::vector<Tensor<Any>> states_of(const DescentRule& rule, const Shape& shape, DType type) const;
  std::vector<std::size_t> trained(const std::vector<Tensor<Any>>& parameters);
  void prepare_joint(const std::vector<Tensor<Any>>& parameters);

  struct Group {
    Tensor<Any> parameter;
    std::size_t rule;
  };
  std::vector<DescentRule> rules_;  // the first one is everybody's that no group names
  std::vector<Group> groups_;
  Tensor<Any> count_;
  std::optional<std::int64_t> shard_least_;
  std::vector<Trained> trained_;
  std::vector<Tensor<Any>> joint_states_;  // of a rule of all parameters together, which keeps none of each
};

}  // namespace TYTO_API
}  // namespace tyto
