// Memories as states, and one update of all parameters.
#include "tyto/nn/descent.hpp"

#include <algorithm>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

// Schedules are computed as exactly as the most exact parameter is held.
DType rate_type(const std::vector<Tensor<Any>>& parameters) {
  const bool wide = std::any_of(parameters.begin(), parameters.end(),
                                [](const Tensor<Any>& parameter) { return parameter.dtype() == DType::f64; });
  return wide ? DType::f64 : DType::f32;
}

Tensor<Any> as_vector(const std::vector<Tensor<Any>>& tensors, DType type) {
  std::vector<Tensor<Any>> parts;
  for (const Tensor<Any>& each : tensors) parts.push_back(cast(reshape(each, {-1}), type));
  return concat(parts, 0);
}

}  // namespace

Descent::Descent(DescentRule rule)
    : rules_{std::move(rule)},
      count_(Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), rules_[0].name + " count")) {}

void Descent::add_group(Descent other, const std::vector<Tensor<Any>>& parameters) {
  if (!states_.empty()) throw ValueError(core::text(name(), ": rules of groups are given before the first update"));
  if (is_joint() || other.is_joint()) {
    throw ValueError(core::text(name(), ": ", is_joint() ? name() : other.name(), " is of all parameters together"));
  }
  if (other.rules_.size() != 1)
    throw ValueError(core::text(name(), ": a group goes by one rule, not by groups of its own"));
  rules_.push_back(std::move(other.rules_[0]));
  for (const Tensor<Any>& parameter : parameters) groups_.push_back({parameter, rules_.size() - 1});
}

const DescentRule& Descent::rule_of(const Tensor<Any>& parameter) const {
  // A later group has the last word.
  const auto group = std::find_if(groups_.rbegin(), groups_.rend(), [&](const Group& each) {
    return same_value(each.parameter.value(), parameter.value());
  });
  return rules_[group == groups_.rend() ? 0 : group->rule];
}

std::int64_t Descent::count() const { return count_.item<std::int64_t>(); }

std::vector<Tensor<Any>> Descent::memories_of(const DescentRule& rule, const Shape& shape, DType type) const {
  std::vector<Tensor<Any>> made;
  for (std::size_t i = 0; i < rule.state_names.size(); ++i) {
    Shape own = shape;
    if (const std::int64_t rows = rule.rows ? (*rule.rows)[i] : 0; rows > 0) own = {rows, shape[0]};
    made.push_back(Tensor<Any>::persistent(Tensor<Any>::zeros(own, type), rule.name + " " + rule.state_names[i]));
  }
  for (const std::string& number : rule.numbers) {
    made.push_back(Tensor<Any>::persistent(Tensor<Any>::zeros({}, type), rule.name + " " + number));
  }
  return made;
}

void Descent::prepare(const std::vector<Tensor<Any>>& parameters) {
  if (states_.empty()) {
    for (const Tensor<Any>& parameter : parameters) {
      if (!is_floating(parameter.dtype())) {
        throw TypeError(core::text(name(), ": a parameter of ", name_of(parameter.dtype()), " cannot be trained"));
      }
    }
    std::int64_t elements = 0;
    for (const Tensor<Any>& parameter : parameters) {
      shapes_.push_back(parameter.shape());
      elements += parameter.size();
      if (is_joint()) continue;
      states_.push_back(memories_of(rule_of(parameter), parameter.shape(), statistics_type(parameter.dtype())));
    }
    if (is_joint()) states_.push_back(memories_of(rules_[0], {elements}, rate_type(parameters)));
  }
  if (shapes_.size() != parameters.size()) {
    throw ValueError(
        core::text(name(), ": given ", parameters.size(), " parameters, at first there were ", shapes_.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (shapes_[i] != parameters[i].shape()) {
      throw ShapeError(core::text(name(), ": parameter ", i, " has shape ", parameters[i].shape(), ", at first it had ",
                                  shapes_[i]));
    }
  }
}

NamedList<Tensor<Any>> Descent::state(const NamedList<Tensor<Any>>& parameters) {
  std::vector<Tensor<Any>> handles;
  for (const Named<Tensor<Any>>& parameter : parameters) handles.push_back(parameter.value);
  prepare(handles);
  NamedList<Tensor<Any>> list{{"count", count_}};
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const DescentRule& rule = is_joint() ? rules_[0] : rule_of(parameters[i].value);
    const std::string owner = is_joint() ? rule.name : parameters[i].name;
    std::vector<std::string> names = rule.state_names;
    names.insert(names.end(), rule.numbers.begin(), rule.numbers.end());
    for (std::size_t k = 0; k < names.size(); ++k) list.push_back({owner + "." + names[k], states_[i][k]});
  }
  return list;
}

void Descent::apply(const Tensor<Any>& condition, const std::vector<Tensor<Any>>& parameters,
                    const std::vector<Tensor<Any>>& gradients) {
  if (condition.defined() && (condition.dtype() != DType::boolean || condition.ndim() != 0)) {
    throw ShapeError(core::text(name(), ": the condition of an update is ", name_of(condition.dtype()), " of shape ",
                                condition.shape(), "; one bool is expected"));
  }
  const auto give = [&](const Tensor<Any>& state, const Tensor<Any>& next) {
    assign(state, !condition.defined() ? next : where(condition, next, state));
  };
  if (parameters.size() != gradients.size()) {
    throw ValueError(core::text(name(), ": ", parameters.size(), " parameters and ", gradients.size(), " gradients"));
  }
  prepare(parameters);
  const Tensor<Any> before = cast(count_, rate_type(parameters));
  std::vector<Tensor<Any>> rates;
  for (const DescentRule& rule : rules_) rates.push_back(rule.rate.at(before));
  const Tensor<Any> count = before + 1.0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i].shape() == parameters[i].shape()) continue;
    throw ShapeError(core::text(name(), ": parameter ", i, " of shape ", parameters[i].shape(),
                                " is given a gradient of shape ", gradients[i].shape()));
  }
  // Computes in `type` what one rule subtracts, and gives its memories their next values.
  const auto change_of = [&](std::size_t i, const DescentRule& rule, const Tensor<Any>& parameter,
                             const Tensor<Any>& gradient) {
    const DType type = parameter.dtype();
    const Tensor<Any>& rate = rates[static_cast<std::size_t>(&rule - rules_.data())];
    std::vector<Tensor<Any>> states;
    for (const Tensor<Any>& each : states_[i]) states.push_back(cast(each, type));
    const Tensor<Any> own_rate = rate.ndim() == 0 && rate.dtype() == type ? rate : cast(rate, type);
    const Tensor<Any> change = rule.change({parameter, gradient, states, cast(count, type), own_rate});
    for (std::size_t k = 0; k < states.size(); ++k) give(states_[i][k], states[k]);
    return change;
  };
  const auto subtract = [&](std::size_t i, const Tensor<Any>& parameter, const Tensor<Any>& change) {
    give(parameters[i], cast(parameter - change, parameters[i].dtype()));
  };
  if (is_joint()) {
    const DType type = rate_type(parameters);
    const Tensor<Any> change = change_of(0, rules_[0], as_vector(parameters, type), as_vector(gradients, type));
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::int64_t end = begin + parameters[i].size();
      const Tensor<Any> own = reshape(change(slice(std::exchange(begin, end), end)), parameters[i].shape());
      subtract(i, cast(parameters[i], type), own);
    }
  }
  for (std::size_t i = 0; i < parameters.size() && !is_joint(); ++i) {
    const DType type = statistics_type(parameters[i].dtype());
    const Tensor<Any> parameter = cast(parameters[i], type);
    subtract(i, parameter, change_of(i, rule_of(parameters[i]), parameter, cast(gradients[i], type)));
  }
  give(count_, count_ + 1);
}

}  // namespace nn
}  // namespace TYTO_API
