// SPDX-License-Identifier: MIT
// Optimiser state as states of the graph, and one update of all parameters.
#include "tyto/nn/descent.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "core/device/process_group.hpp"
#include "nn/distinct_states.hpp"
#include "nn/layer_parts.hpp"
#include "nn/parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/distributed.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/clipping.hpp"
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

bool is_same(const Tensor<Any>& a, const Tensor<Any>& b) { return same_value(a.value(), b.value()); }

Tensor<Any> as_vector(const std::vector<Tensor<Any>>& tensors, DType type) {
  std::vector<Tensor<Any>> parts;
  for (const Tensor<Any>& each : tensors) parts.push_back(cast(reshape(each, {-1}), type));
  return concat(parts, 0);
}

/// The states that the rule keeps of a parameter of this shape, in order.
NamedList<Shape> states_kept(const DescentRule& rule, const Shape& shape) {
  NamedList<Shape> kept;
  for (const std::string& name : rule.state_names) kept.push_back({name, shape});
  if (rule.shaped) {
    for (Named<Shape>& each : rule.shaped(shape)) kept.push_back(std::move(each));
  }
  for (const std::string& name : rule.numbers) kept.push_back({name, {}});
  if (rule.counted) kept.push_back({"count", {}});
  return kept;
}

}  // namespace

Descent::Descent(DescentRule rule)
    : rules_{std::move(rule)},
      count_(Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), rules_[0].name + " count")) {}

void Descent::add_group(Descent other, const std::vector<Tensor<Any>>& parameters) {
  if (is_joint() || other.is_joint()) {
    core::throw_error<ValueError>(name(), ": ", is_joint() ? name() : other.name(), " is of all parameters together");
  }
  if (other.rules_.size() != 1)
    core::throw_error<ValueError>(name(), ": a group goes by one rule, not by groups of its own");
  for (const Tensor<Any>& parameter : parameters) {
    const bool updated = std::any_of(trained_.begin(), trained_.end(),
                                     [&](const Trained& each) { return is_same(each.parameter, parameter); });
    if (updated)
      core::throw_error<ValueError>(name(), ": rules of groups are given before their parameters' first update");
  }
  rules_.push_back(std::move(other.rules_[0]));
  for (const Tensor<Any>& parameter : parameters) groups_.push_back({parameter, rules_.size() - 1});
}

Descent& Descent::shard(std::int64_t least) & {
  if (is_joint()) core::throw_error<ValueError>(name(), ": is of all parameters together, and cannot be sharded");
  if (!trained_.empty()) core::throw_error<ValueError>(name(), ": shard() comes before the first update");
  shard_least_ = std::max<std::int64_t>(1, least);
  return *this;
}

std::int64_t Descent::part_of(const DescentRule& rule, const Tensor<Any>& parameter) const {
  const int processes = shard_least_ ? core::processes_of_call("Descent::shard") : 1;
  if (processes == 1 || !rule.elementwise || parameter.size() < *shard_least_) return 0;
  return (parameter.size() + processes - 1) / processes;
}

std::size_t Descent::rule_of(const Tensor<Any>& parameter) const {
  // A later group has the last word.
  const auto group = std::find_if(groups_.rbegin(), groups_.rend(),
                                  [&](const Group& each) { return is_same(each.parameter, parameter); });
  return group == groups_.rend() ? 0 : group->rule;
}

std::int64_t Descent::count() const { return count_.item<std::int64_t>(); }

std::vector<Tensor<Any>> Descent::states_of(const DescentRule& rule, const Shape& shape, DType type) const {
  std::vector<Tensor<Any>> made;
  for (const Named<Shape>& each : states_kept(rule, shape)) {
    const double first = rule.first.contains(each.name) ? rule.first[each.name] : 0;
    made.push_back(Tensor<Any>::persistent(Tensor<Any>::full(each.value, first, type), rule.name + " " + each.name));
  }
  return made;
}

std::vector<std::size_t> Descent::trained(const std::vector<Tensor<Any>>& parameters) {
  for (const Tensor<Any>& parameter : parameters) {
    if (!is_floating(parameter.dtype())) {
      core::throw_error<TypeError>(name(), ": a parameter of ", name_of(parameter.dtype()), " cannot be trained");
    }
  }
  if (is_joint()) prepare_joint(parameters);
  std::map<const core::Node*, std::size_t> places;  // of what was trained before, filled when a parameter is not next
  const auto place_of = [&](const Tensor<Any>& parameter, std::size_t next) {
    const std::size_t known = trained_.size();
    if (next < known && is_same(trained_[next].parameter, parameter)) return next;
    for (std::size_t i = places.size(); i < known; ++i) places.emplace(trained_[i].parameter.value().node(), i);
    const auto place = places.find(parameter.value().node());
    return place == places.end() ? known : place->second;
  };
  std::vector<std::size_t> found;
  for (const Tensor<Any>& parameter : parameters) {
    const std::size_t at = place_of(parameter, found.empty() ? 0 : found.back() + 1);
    if (at == trained_.size()) {
      const std::size_t rule = rule_of(parameter);
      trained_.push_back({parameter, rule});
      if (!is_joint()) {
        const std::int64_t part = trained_[at].part = part_of(rules_[rule], parameter);
        trained_[at].states =
            states_of(rules_[rule], part == 0 ? parameter.shape() : Shape{part}, statistics_type(parameter.dtype()));
      }
    }
    found.push_back(at);
  }
  return found;
}

void Descent::prepare_joint(const std::vector<Tensor<Any>>& parameters) {
  if (trained_.empty()) {
    std::int64_t elements = 0;
    for (const Tensor<Any>& parameter : parameters) elements += parameter.size();
    joint_states_ = states_of(rules_[0], {elements}, rate_type(parameters));
    return;
  }
  const bool are_same = std::equal(parameters.begin(), parameters.end(), trained_.begin(), trained_.end(),
                                   [](const Tensor<Any>& a, const Trained& b) { return is_same(a, b.parameter); });
  if (are_same) return;
  core::throw_error<ValueError>(name(), ": is of all parameters together, which must be those of the first update: ",
                                trained_.size(), "; given are ", parameters.size(), ", or others");
}

NamedList<Tensor<Any>> Descent::state(const NamedList<Tensor<Any>>& parameters) {
  NamedList<Tensor<Any>> list;
  for (const Named<KeptState>& each : kept_states(parameters)) {
    if (each.value.whole) {
      core::throw_error<GraphError>(name(), ": '", each.name,
                                    "' is one process's part of a sharded state; a Checkpoint takes the whole ones by "
                                    "add(name, descent, named_parameters())");
    }
    list.push_back({each.name, each.value.value});
  }
  return list;
}

NamedList<Descent::KeptState> Descent::kept_states(const NamedList<Tensor<Any>>& parameters) {
  std::vector<Tensor<Any>> handles;
  for (const Named<Tensor<Any>>& parameter : parameters) handles.push_back(parameter.value);
  const std::vector<std::size_t> found = trained(handles);
  NamedList<KeptState> list{{"count", {count_}}};
  const auto add = [&](const std::string& owner, const DescentRule& rule, const Shape& shape,
                       const std::vector<Tensor<Any>>& states, bool parts) {
    std::size_t k = 0;
    for (const Named<Shape>& each : states_kept(rule, shape)) {
      KeptState kept{states[k++]};
      if (parts && !each.value.empty()) kept.whole = each.value;
      list.push_back({owner + "." + each.name, std::move(kept)});
    }
  };
  if (is_joint()) add(rules_[0].name, rules_[0], {0}, joint_states_, false);
  for (std::size_t i = 0; i < found.size() && !is_joint(); ++i) {
    const Trained& own = trained_[found[i]];
    add(parameters[i].name, rules_[own.rule], own.parameter.shape(), own.states, own.part != 0);
  }
  return list;
}

void Descent::apply(const Tensor<Any>& condition, const std::vector<Tensor<Any>>& parameters, const Gradients& given,
                    std::vector<Update>* instead) {
  if (shard_least_ && !given.are_parts) {
    core::throw_error<GraphError>(name(),
                                  ": processes keep parts of its states (shard), for which update() sums gradients "
                                  "itself: give it distributed::weighted(gradients, samples), not average(...)");
  }
  const std::vector<Tensor<Any>>& gradients = given.values;
  if (parameters.empty() && gradients.empty()) {
    core::throw_error<ValueError>(name(), ": the list of parameters is empty; a layer's are those of its members()");
  }
  if (condition.defined() && (condition.dtype() != DType::boolean || condition.ndim() != 0)) {
    core::throw_error<ShapeError>(name(), ": the condition of an update is ", name_of(condition.dtype()), " of shape ",
                                  condition.shape(), "; one bool is expected");
  }
  const auto give = [&](const Tensor<Any>& state, const Tensor<Any>& next) {
    if (instead != nullptr) instead->push_back({state.value(), cast(next, state.dtype()).value()});
    else assign(state, !condition.defined() ? next : where(condition, next, state));
  };
  if (parameters.size() != gradients.size()) {
    core::throw_error<ValueError>(name(), ": ", parameters.size(), " parameters and ", gradients.size(), " gradients");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i].shape() == parameters[i].shape()) continue;
    core::throw_error<ShapeError>(name(), ": parameter ", i, " of shape ", parameters[i].shape(),
                                  " is given a gradient of shape ", gradients[i].shape());
  }
  for (const Tensor<Any>& gradient : gradients) {
    const std::string missing = instead == nullptr ? tyto::detail::missing_input(gradient) : std::string();
    if (missing.empty()) continue;
    core::throw_error<GraphError>(name(), ": a gradient depends on the placeholder '", missing,
                                  "', which has no value; compile() the step, or give an explicit Graph the updates: "
                                  ".updates = descent.updates(parameters, gradients)");
  }
  DistinctStates updated;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (updated.add(parameters[i])) continue;
    core::throw_error<ValueError>(name(), ": parameter ", i, " of shape ", parameters[i].shape(),
                                  " is given twice; its gradient is that of all places that read it");
  }
  const std::vector<std::size_t> found = trained(parameters);
  // In an explicit graph states are read anew by each run: what is computed of them alone is recorded as well.
  std::optional<tyto::detail::Tape> recording;
  Tensor<Any> updates_before = count_;
  if (instead != nullptr) {
    recording.emplace();
    const std::vector<Value> beside{Tensor<Lazy>::zeros({}).value()};
    const auto record = [&](const std::vector<Tensor<Any>>& states) {
      for (const Tensor<Any>& state : states) recording->track_state(state, beside);
    };
    record(parameters);
    record(joint_states_);
    for (const std::size_t each : found) record(trained_[each].states);
    updates_before = count_ + Tensor<Any>(Tensor<Lazy>::zeros({}, DType::i64).value());
  }
  const Tensor<Any> before = cast(updates_before, rate_type(parameters));
  std::vector<Tensor<Any>> rates;
  for (const DescentRule& rule : rules_) rates.push_back(rule.rate.at(before));
  // Computes in `type` what one rule subtracts, and gives its states their next values.
  const auto change_of = [&](std::size_t at, const std::vector<Tensor<Any>>& own, const Tensor<Any>& parameter,
                             const Tensor<Any>& gradient) {
    const DType type = parameter.dtype();
    const DescentRule& rule = rules_[at];
    const NameScope named(rule.name);
    const Tensor<Any>& rate = rates[at];
    std::vector<Tensor<Any>> states;
    for (const Tensor<Any>& each : own) states.push_back(cast(each, type));
    if (rule.counted) states.back() = states.back() + 1.0;
    const Tensor<Any> count = rule.counted ? states.back() : Tensor<Any>();
    const Tensor<Any> own_rate = rate.ndim() == 0 && rate.dtype() == type ? rate : cast(rate, type);
    const std::span<Tensor<Any>> own_states(states.data(), states.size() - (rule.counted ? 1 : 0));
    const Tensor<Any> change = rule.change({parameter, gradient, own_states, count, own_rate});
    for (std::size_t k = 0; k < states.size(); ++k) give(own[k], states[k]);
    return change;
  };
  const auto subtract = [&](std::size_t i, std::size_t rule, const Tensor<Any>& parameter, const Tensor<Any>& change) {
    const NameScope named(rules_[rule].name);
    give(parameters[i], cast(parameter - change, parameters[i].dtype()));
  };
  // Whether gradients are summed over processes: each holds its own part of a parameter, or all of it.
  const bool are_summed = given.are_parts && core::process_group().size() > 1;
  const auto part = [&](std::size_t i) { return trained_[found[i]].part; };
  std::vector<Tensor<Any>> sums = gradients;
  const auto take_sum = [&](std::size_t i) {
    if (!are_summed) return;
    const Tensor<Any> own = cast(gradients[i], statistics_type(parameters[i].dtype()));
    sums[i] = part(i) != 0 ? sum_of_own_part(own, part(i)) : distributed::all_reduce(own);
  };
  // As a backward pass yields gradients.
  const auto take_sums = [&](bool of_parts) {
    for (std::size_t i = parameters.size(); i-- > 0;) {
      if ((part(i) != 0) == of_parts) take_sum(i);
    }
  };
  if (given.norm_limit) {
    take_sums(true);
    take_sums(false);
    sums = are_summed ? clipped_sums(
                            sums, [&](std::size_t i) { return part(i) != 0; }, *given.norm_limit)
                      : detail::clip_by_global_norm(gradients, *given.norm_limit);
  }
  if (is_joint()) {
    if (!given.norm_limit) take_sums(false);
    const DType type = rate_type(parameters);
    const Tensor<Any> change = change_of(0, joint_states_, as_vector(parameters, type), as_vector(sums, type));
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::int64_t end = begin + parameters[i].size();
      const Tensor<Any> own = reshape(change(slice(std::exchange(begin, end), end)), parameters[i].shape());
      subtract(i, 0, cast(parameters[i], type), own);
    }
  }
  // One after the other, so that the gradients of large parameters can go.
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (part(i) == 0) continue;
    if (!given.norm_limit) take_sum(i);
    const Trained& own = trained_[found[i]];
    const DType type = statistics_type(parameters[i].dtype());
    const NameScope named(rules_[own.rule].name);
    const Tensor<Any> parameter = cast(own_part(parameters[i], own.part), type);
    const Tensor<Any> next = parameter - change_of(own.rule, own.states, parameter, sums[i]);
    give(parameters[i], joined_parts(cast(next, parameters[i].dtype()), parameters[i].shape()));
  }
  if (!given.norm_limit && !is_joint()) take_sums(false);
  for (std::size_t i = 0; i < parameters.size() && !is_joint(); ++i) {
    if (part(i) != 0) continue;
    const Trained& own = trained_[found[i]];
    const DType type = statistics_type(parameters[i].dtype());
    const Tensor<Any> parameter = cast(parameters[i], type);
    subtract(i, own.rule, parameter, change_of(own.rule, own.states, parameter, cast(sums[i], type)));
  }
  give(count_, updates_before + 1);
}

}  // namespace nn
}  // namespace TYTO_API
