// SPDX-License-Identifier: MIT
// Groups of element-wise nodes, and the reductions that end them.
//
// No group may depend on itself through a node outside it, which levels see to, and none may keep more memory alive
// than its members did.
#include "optimiser/passes/fuse.hpp"

#include <algorithm>

#include "core/graph/cheap_operators.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/complex_loop.hpp"
#include "optimiser/passes/fuser.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

core::Graph Fuser::run(FuseCounts& counts) {
  classify();
  choose_repeated();
  list_reads();
  for (Index i = 0; i < size(); ++i) place(i);
  choose_rows();
  choose_widened_folds();
  choose_folds();
  if (std::ranges::none_of(groups_, is_real)) return std::move(graph_);
  counts.repeated = repeated_count_;
  list_members();
  find_needed();
  return rebuild(counts);
}

bool Fuser::is_real(const Group& group) {
  return group.united_with == none && (group.first != group.last || group.repeats || group.fold != none);
}

std::uint32_t Fuser::steps_of(Index i) const {
  const GraphNode& each = node(i);
  DType type = graph_.type(each.first_result).dtype;
  for (const Port input : graph_.inputs_of(each)) {
    if (is_complex(graph_.type(input).dtype)) type = graph_.type(input).dtype;
  }
  return static_cast<std::uint32_t>(core::instructions_of(each.op, type));
}

std::size_t Fuser::bytes(Port port) const {
  return static_cast<std::size_t>(element_count(shape(port))) * size_of(graph_.type(port).dtype);
}

std::uint32_t Fuser::find(Index group) {
  Index last = group;
  while (groups_[last].united_with != none) last = groups_[last].united_with;
  while (group != last) group = std::exchange(groups_[group].united_with, last);
  return last;
}

bool Fuser::is_fusible(const GraphNode& each) const {
  const OpDef& def = core::definition(each.op);
  if (!def.is(Traits::elementwise) && each.op != OpId::cast) return false;
  std::size_t tensors = 0;
  DType types[3];
  std::size_t count = 0;
  for (const Port input : graph_.inputs_of(each)) {
    types[count++] = graph_.type(input).dtype;
    tensors += scalar_of(graph_, source_[input]) ? 0 : 1;
  }
  const DType result = graph_.type(each.first_result).dtype;
  return tensors != 0 && (!options_.supports || options_.supports(each.op, {types, count}, {&result, 1}));
}

void Fuser::find_live() {
  live_.assign(size(), false);
  for (const Port port : graph_.outputs()) live_[graph_.producer(port)] = true;
  for (const core::GraphUpdate& update : graph_.updates()) live_[graph_.producer(update.port)] = true;
  for (Index i = size(); i-- > 0;) {
    if (!live_[i] && !core::has_effect(node(i))) continue;
    live_[i] = true;
    for (const Port input : graph_.inputs_of(node(i))) live_[graph_.producer(input)] = true;
  }
}

void Fuser::classify() {
  find_live();
  consumers_.assign(graph_.port_count(), 0);
  source_.resize(graph_.port_count());
  fusible_.assign(size(), false);
  group_.assign(size(), none);
  next_member_.assign(size(), none);
  level_.assign(size(), 0);
  repeated_.assign(size(), false);
  widens_.assign(size(), false);
  for (Index i = 0; i < size(); ++i) {
    const GraphNode& each = node(i);
    for (const Port input : graph_.inputs_of(each)) consumers_[input] += live_[i] ? 1 : 0;
    for (Port port = each.first_result; port < each.first_result + each.result_count; ++port) source_[port] = port;
    // An element-wise consumer reads through broadcasts and renamings to the tensor itself.
    const bool same = each.op == OpId::broadcast_to || each.op == OpId::alias || each.op == OpId::stop_gradient;
    if (same) source_[each.first_result] = source_[graph_.inputs_of(each)[0]];
    fusible_[i] = live_[i] && is_fusible(each);
  }
  for (const Port port : graph_.outputs()) ++consumers_[port];
  for (const core::GraphUpdate& update : graph_.updates()) ++consumers_[update.port];
}

// A cheap function of one tensor, or of one and of others that are small beside it (the statistics of a normalisation),
// that several element-wise nodes read: instead of its result they all read what it is computed from. The tensor must
// be no larger than the result, so that no more bytes are moved nor kept.
void Fuser::choose_repeated() {
  std::vector<std::uint32_t> fusing(graph_.port_count(), 0);
  for (Index i = 0; i < size(); ++i) {
    if (!fusible_[i]) continue;
    for (const Port input : graph_.inputs_of(node(i))) {
      if (shape(input) == shape(node(i).first_result)) ++fusing[input];
    }
  }
  // For each node, the number of nodes that repeating it takes.
  std::vector<std::uint8_t> together(size(), 0);
  for (Index i = 0; i < size(); ++i) {
    const Port result = node(i).first_result;
    if (!fusible_[i] || !core::is_cheap(node(i).op) || consumers_[result] < 2 || fusing[result] != consumers_[result])
      continue;
    std::size_t count = 1;
    for (const Port input : graph_.inputs_of(node(i))) count += together[graph_.producer(source_[input])];
    if (count > most_repeated) continue;
    SmallSet<Port, most_behind> behind;
    bool room = true;
    each_operand(i, [&](Port port) { room = room && behind.add(port); });
    const auto is_small = [&](Port port) {
      return shape(port) != shape(result) && bytes(port) <= bytes(result) / small_part;
    };
    const Port* const whole = std::find_if_not(behind.begin(), behind.end(), is_small);
    if (!room) continue;
    if (whole != behind.end()) {
      const bool second = std::find_if_not(whole + 1, behind.end(), is_small) != behind.end();
      if (second || bytes(*whole) > bytes(result)) continue;
    }
    together[i] = static_cast<std::uint8_t>(count);
    repeated_[i] = true;
    ++repeated_count_;
    count_reads_through(i, consumers_[result] - 1);
  }
}

void Fuser::count_reads_through(Index i, std::uint32_t more) {
  for (const Port input : graph_.inputs_of(node(i))) {
    consumers_[input] += more;
    if (repeated_[graph_.producer(input)]) count_reads_through(graph_.producer(input), more);
  }
}

std::uint32_t Fuser::level_of(Index i) {
  const Index group = group_of(i);
  return group == none ? level_[i] : groups_[group].level;
}

void Fuser::place(Index i) {
  if (repeated_[i]) {
    // Stays outside all groups; its consumers read its operand.
    each_operand(i, [&](Port port) { level_[i] = std::max(level_[i], level_of(graph_.producer(port))); });
    return;
  }
  if (!fusible_[i]) {
    for (const Port input : graph_.inputs_of(node(i))) {
      level_[i] = std::max(level_[i], level_of(graph_.producer(input)) + 1);
    }
    return;
  }
  Groups candidates;
  Inputs operands;
  std::uint32_t level = 0, highest = 0;
  each_operand(i, [&](Port port) {
    operands.add(port);
    const Index producer = graph_.producer(port);
    const Index group = group_of(producer);
    if (group == none || shape(port) != shape(node(i).first_result)) {
      level = std::max(level, level_of(producer) + 1);
    } else {
      candidates.add(group);
      highest = std::max(highest, groups_[group].level);
    }
  });
  group_[i] = static_cast<Index>(groups_.size());
  groups_.push_back(
      {none, 0, steps_of(i), consumers_[node(i).first_result], i, reads_repeated(i), none, i, i, operands});
  const Index soon = soonest(i);

  if (!candidates.empty() && highest >= level) {
    // All groups of the highest level or none: one left outside would be read by another of its own level.
    Groups peers;
    for (const Index group : candidates) {
      if (groups_[group].level == highest) peers.add(group);
    }
    level = try_to_unite(peers, i) ? highest : highest + 1;
  }
  for (const Index group : candidates) {
    if (groups_[group].united_with != none || groups_[group].level >= level) continue;
    if (groups_[group].outside == reads(i, group)) try_to_unite({&group, 1}, i);
  }
  groups_[group_of(i)].level = level;
  if (groups_[group_of(i)].first == groups_[group_of(i)].last) groups_[group_of(i)].when = soon;
}

bool Fuser::reads_repeated(Index i) const {
  return std::ranges::any_of(graph_.inputs_of(node(i)),
                             [&](Port input) { return repeated_[graph_.producer(source_[input])]; });
}

std::uint32_t Fuser::reads(Index i, Index group) {
  std::uint32_t count = 0;
  for (const Port input : graph_.inputs_of(node(i))) {
    const Index producer = graph_.producer(input);
    if (repeated_[producer]) count += reads(producer, group);
    else if (group_of(producer) == group) ++count;
  }
  return count;
}

std::optional<Fuser::Inputs> Fuser::inputs_with(std::span<const Index> groups, Index i) {
  const Index own = group_of(i);
  std::size_t steps = groups_[own].steps;
  for (const Index group : groups) steps += groups_[group].steps;
  if (steps > most_steps) return std::nullopt;
  const auto inside = [&](Index group) { return group == own || std::ranges::find(groups, group) != groups.end(); };
  Inputs inputs;
  const auto add_from = [&](const Group& group) {
    return std::ranges::all_of(group.inputs, [&](Port port) {
      const Index producer = group_of(graph_.producer(port));
      return (producer != none && inside(producer)) || inputs.add(port);
    });
  };
  const bool room = std::ranges::all_of(groups, [&](Index group) { return add_from(groups_[group]); });
  return room && add_from(groups_[own]) ? std::optional(inputs) : std::nullopt;
}

bool Fuser::try_to_unite(std::span<const Index> groups, Index i) {
  const std::optional<Inputs> inputs = inputs_with(groups, i);
  if (!inputs) return false;
  const Index when = time_together(groups, i);
  if (when == none) return false;
  const Index own = group_of(i);
  Group& to = groups_[own];
  for (const Index group : groups) {
    Group& from = groups_[group];
    to.outside += from.outside - reads(i, group);
    to.steps += from.steps;
    to.repeats = to.repeats || from.repeats;
    next_member_[to.last] = from.first;
    to.last = from.last;
    from.united_with = own;
  }
  to.inputs = *inputs;
  to.when = when;
  return true;
}

bool Fuser::in_real_group(Index i) {
  const Index group = group_of(i);
  return group != none && is_real(groups_[group]);
}

bool Fuser::device_reduces(const GraphNode& each) const {
  const DType from = graph_.type(graph_.inputs_of(each)[0]).dtype, to = graph_.type(each.first_result).dtype;
  return !options_.supports || options_.supports(each.op, {&from, 1}, {&to, 1});
}

bool Fuser::folds_neighbours(const GraphNode& each) const {
  const IntList& axes = std::get<core::AxesAttributes>(graph_.attributes(each)).axes;
  const Shape& from = shape(graph_.inputs_of(each)[0]);
  std::int64_t count = 1;
  std::size_t runs = 0;
  bool inside = false;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == 1) continue;
    const bool folded = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    if (folded) count *= from[axis];
    runs += folded && !inside ? 1 : 0;
    inside = folded;
  }
  return runs == 1 && count != 1;
}

// A reduction of a tensor that is computed from a narrower one, and not for the reduction alone, computes it from that
// anew: fewer bytes are read, and the wide tensor need not be stored for it.
void Fuser::choose_widened_folds() {
  for (Index i = 0; i < size(); ++i) {
    const GraphNode& each = node(i);
    if (!may_end_group(i)) continue;
    const Port input = graph_.inputs_of(each)[0];
    const Index producer = graph_.producer(input), group = group_of(producer);
    if (group == none || !core::is_cheap(node(producer).op) || node(producer).input_count != 1) continue;
    const Port narrow = graph_.inputs_of(node(producer))[0];
    if (shape(narrow) != shape(input) || bytes(narrow) >= bytes(input)) continue;
    if (groups_[group].outside == 1 && groups_[group].axes.empty()) continue;
    widens_[i] = true;
    --consumers_[input];
    if (groups_[group].axes.empty()) --groups_[group].outside;
    Inputs inputs;
    each_operand(i, [&](Port port) { inputs.add(port); });
    groups_.push_back({none, level_[i], 2, consumers_[each.first_result], i, true, i, i, i, inputs, {}, shape(input)});
    group_[i] = static_cast<Index>(groups_.size() - 1);
  }
}

bool Fuser::may_end_group(Index i) const {
  const GraphNode& each = node(i);
  if (!live_[i] || group_[i] != none) return false;
  if (each.op != OpId::sum && each.op != OpId::mean && each.op != OpId::prod) return false;
  return device_reduces(each) && folds_neighbours(each);
}

// A reduction that is the only consumer of a group takes its elements as they are computed.
void Fuser::choose_folds() {
  for (Index i = 0; i < size(); ++i) {
    const GraphNode& each = node(i);
    if (!may_end_group(i)) continue;
    const Port input = graph_.inputs_of(each)[0];
    const Index group = group_of(graph_.producer(input));
    if (group == none || groups_[group].fold != none || groups_[group].outside != 1) continue;
    if (!groups_[group].axes.empty()) continue;
    if (consumers_[input] != 1) continue;
    if (!same_time(groups_[group].when, i) && kept_until(i, group) > bytes(input)) continue;
    groups_[group].fold = i;
    group_[i] = group;
  }
}

core::Graph fuse(core::Graph graph, const PassOptions& options, FuseCounts* counts) {
  FuseCounts own;
  core::Graph out = Fuser(std::move(graph), options).run(own);
  if (counts != nullptr) *counts = own;
  return out;
}

core::Graph fuse_groups(core::Graph graph, const PassOptions& options, std::vector<RuleCount>& rules) {
  FuseCounts counts;
  core::Graph out = fuse(std::move(graph), options, &counts);
  if (counts.groups == 0) return out;
  rules.push_back({"groups", counts.groups});
  rules.push_back({"members", counts.members});
  if (counts.repeated != 0) rules.push_back({"repeated", counts.repeated});
  if (counts.updates != 0) rules.push_back({"state_updates", counts.updates});
  return out;
}

}  // namespace tyto::optimiser
