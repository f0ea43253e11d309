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

}  // namespace

Descent::Descent(DescentRule rule)
    : rules_{std::move(rule)},
      count_(Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), rules_[0].name + " count")) {}

void Descent::add_group(Descent other, const std::vector<Tensor<Any>>& parameters) {
  if (!states_.empty()) throw ValueError(core::text(name(), ": rules of groups are given before the first update"));
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

void Descent::prepare(const std::vector<Tensor<Any>>& parameters) {
  if (states_.empty()) {
    for (const Tensor<Any>& parameter : parameters) {
      if (!is_floating(parameter.dtype())) {
        throw TypeError(core::text(name(), ": a parameter of ", name_of(parameter.dtype()), " cannot be trained"));
      }
    }
    for (const Tensor<Any>& parameter : parameters) {
      const DescentRule& rule = rule_of(parameter);
      const DType type = statistics_type(parameter.dtype());
      std::vector<Tensor<Any>>& own = states_.emplace_back();
      shapes_.push_back(parameter.shape());
      for (const std::string& name : rule.state_names) {
        own.push_back(Tensor<Any>::persistent(Tensor<Any>::zeros(parameter.shape(), type), rule.name + " " + name));
      }
      for (const std::string& number : rule.numbers) {
        own.push_back(Tensor<Any>::persistent(Tensor<Any>::zeros({}, type), rule.name + " " + number));
      }
    }
  }
  if (states_.size() != parameters.size()) {
    throw ValueError(
        core::text(name(), ": given ", parameters.size(), " parameters, at first there were ", states_.size()));
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
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const DescentRule& rule = rule_of(parameters[i].value);
    std::vector<std::string> names = rule.state_names;
    names.insert(names.end(), rule.numbers.begin(), rule.numbers.end());
    for (std::size_t k = 0; k < names.size(); ++k) {
      list.push_back({parameters[i].name + "." + names[k], states_[i][k]});
    }
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
    if (gradients[i].shape() != parameters[i].shape()) {
      throw ShapeError(core::text(name(), ": parameter ", i, " of shape ", parameters[i].shape(),
                                  " is given a gradient of shape ", gradients[i].shape()));
    }
    const DescentRule& rule = rule_of(parameters[i]);
    const Tensor<Any>& rate = rates[static_cast<std::size_t>(&rule - rules_.data())];
    const DType type = statistics_type(parameters[i].dtype());
    const Tensor<Any> parameter = cast(parameters[i], type);
    std::vector<Tensor<Any>> states;
    for (const Tensor<Any>& each : states_[i]) states.push_back(cast(each, type));
    const Tensor<Any> own_count = cast(count, type);
    const Tensor<Any> own_rate = rate.ndim() == 0 && rate.dtype() == type ? rate : cast(rate, type);
    const Tensor<Any> change = rule.change({parameter, cast(gradients[i], type), states, own_count, own_rate});
    give(parameters[i], cast(parameter - change, parameters[i].dtype()));
    for (std::size_t k = 0; k < states.size(); ++k) give(states_[i][k], states[k]);
  }
  give(count_, count_ + 1);
}

}  // namespace nn
}  // namespace TYTO_API
