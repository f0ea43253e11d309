// SPDX-License-Identifier: MIT
// Rebuilds the graph with one fused node in the place of each group.
#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/fuser.hpp"

#include <queue>

#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

void Fuser::list_members() {
  first_member_.assign(groups_.size() + 1, 0);
  for (Index i = 0; i < size(); ++i) {
    if (in_real_group(i)) ++first_member_[group_of(i) + 1];
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) first_member_[group + 1] += first_member_[group];
  members_.resize(first_member_.back());
  std::vector<std::uint32_t> next = first_member_;
  for (Index i = 0; i < size(); ++i) {
    if (in_real_group(i)) members_[next[group_of(i)]++] = i;
  }
}

// Marks nodes on which results and effects depend; nodes that are fused into all of their consumers are not marked.
void Fuser::find_needed() {
  needed_.assign(size(), false);
  read_outside_.assign(graph_.port_count(), false);
  std::vector<Index> open;
  const auto mark = [&](Index i) {
    needed_[i] = true;
    open.push_back(i);
  };
  const auto need = [&](Port port) {
    read_outside_[port] = true;
    const Index producer = graph_.producer(port);
    if (needed_[producer]) return;
    if (!in_real_group(producer)) return mark(producer);
    for (const Index member : members_of(group_of(producer))) mark(member);
  };
  for (const Port port : graph_.outputs()) need(port);
  for (const core::GraphUpdate& update : graph_.updates()) need(update.port);
  for (Index i = 0; i < size(); ++i) {
    const bool input = node(i).op == OpId::read && node(i).input_count == 0;
    if (!needed_[i] && (input || core::has_effect(node(i)))) mark(i);
  }
  while (!open.empty()) {
    const Index i = open.back();
    open.pop_back();
    if (!in_real_group(i)) {
      for (const Port input : graph_.inputs_of(node(i))) need(input);
      continue;
    }
    each_operand(i, [&](Port port) {
      if (group_of(graph_.producer(port)) != group_of(i)) need(port);
    });
  }
}

std::vector<std::uint32_t> Fuser::order_of_units() {
  std::vector<Index> unit(size());  // by node: the last node of its unit
  for (Index i = 0; i < size(); ++i) unit[i] = in_real_group(i) ? members_of(group_of(i)).back() : i;
  std::vector<std::pair<Index, Index>> edges;  // producer's unit, consumer's unit
  const auto depend = [&](Index consumer, Port port) {
    const Index from = unit[graph_.producer(port)];
    if (from != consumer) edges.emplace_back(from, consumer);
  };
  for (Index i = 0; i < size(); ++i) {
    if (!needed_[i]) continue;
    if (in_real_group(i)) {
      each_operand(i, [&](Port port) { depend(unit[i], port); });
    } else {
      for (const Port input : graph_.inputs_of(node(i))) depend(i, input);
    }
  }
  // Consumers of each unit, one unit after another; a reader of two of its results is listed twice and waits twice.
  std::vector<std::uint32_t> first(size() + 1, 0), waiting(size(), 0);
  for (const auto& [from, to] : edges) {
    ++first[from + 1];
    ++waiting[to];
  }
  for (Index i = 0; i < size(); ++i) first[i + 1] += first[i];
  std::vector<std::uint32_t> next = first;
  std::vector<Index> consumers(edges.size());
  for (const auto& [from, to] : edges) consumers[next[from]++] = to;
  std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
  for (Index i = 0; i < size(); ++i) {
    if (needed_[i] && unit[i] == i && waiting[i] == 0) ready.push(i);
  }
  std::vector<Index> order;
  while (!ready.empty()) {
    const Index done = ready.top();
    ready.pop();
    order.push_back(done);
    for (std::uint32_t k = first[done]; k < first[done + 1]; ++k) {
      if (--waiting[consumers[k]] == 0) ready.push(consumers[k]);
    }
  }
  for (Index i = 0; i < size(); ++i) {
    if (needed_[i] && unit[i] == i && waiting[i] != 0) throw GraphError("fuse: a group waits for its own results");
  }
  return order;
}

core::Graph Fuser::rebuild(FuseCounts& counts) {
  core::GraphBuilder builder;
  core::GraphCopy copy(graph_, builder);
  copy.add_inputs();
  for (const core::GraphUpdate& update : graph_.updates()) update_of_.emplace(update.port, update.input);
  for (const Index i : order_of_units()) {
    const GraphNode& each = node(i);
    if (copy.has(each)) continue;  // an input
    if (in_real_group(i)) {
      const std::span<const Index> members = members_of(group_of(i));
      add_group(builder, copy, members, counts);
      ++counts.groups;
      counts.members += members.size();
      continue;
    }
    copy.add(each);
  }
  return copy.finish();
}

void Fuser::add_group(core::GraphBuilder& builder, core::GraphCopy& copy, std::span<const Index> members,
                      FuseCounts& counts) {
  const Group& own = groups_[group_of(members[0])];
  FusedGroup group(graph_, own.shape.empty() ? shape(node(members[0]).first_result) : own.shape);
  if (!own.axes.empty()) group.fold_over(own.axes);
  for (const Index member : members) add_instruction(group, member, member);
  std::vector<Port> outputs;
  std::shared_ptr<const std::string> label;  // of what updates a state, else of the first member that has one
  for (const Index member : members) {
    const Port port = node(member).first_result;
    if (node(member).label && (!label || update_of_.contains(port))) label = node(member).label;
    if (!read_outside_[port]) continue;
    group.add_output(port);
    outputs.push_back(port);
  }
  std::vector<Port> inputs;
  for (const Port port : group.inputs()) inputs.push_back(copy[port]);
  if (updates_states(group.inputs(), outputs)) ++counts.updates;
  const auto attributes = std::make_shared<const core::Attributes>(group.attributes());
  const Port first = builder.add(OpId::fused, attributes, inputs, label);
  for (std::uint32_t k = 0; k < outputs.size(); ++k) copy[outputs[k]] = first + k;
  for (const Port output : outputs) {
    // A reduction in a group keeps its axes.
    if (shape(output) == builder.graph().type(copy[output]).shape) continue;
    copy[output] = builder.add(OpId::reshape, core::ListAttributes{shape(output)}, {copy[output]});
  }
}

bool Fuser::updates_states(std::span<const Port> inputs, std::span<const Port> outputs) const {
  return std::ranges::any_of(outputs, [&](Port output) {
    const auto update = update_of_.find(output);
    if (update == update_of_.end()) return false;
    return std::ranges::find(inputs, graph_.inputs()[update->second].port) != inputs.end();
  });
}

void Fuser::add_instruction(FusedGroup& group, Index i, Index member) {
  if (group.holds(node(i).first_result)) return;
  for (const Port input : graph_.inputs_of(node(i))) {
    const Index producer = graph_.producer(source_[input]);
    if (repeated_[producer] || widens_[i]) add_instruction(group, producer, member);
  }
  std::vector<Port> operands;
  for (const Port input : graph_.inputs_of(node(i))) operands.push_back(seen_by(member, input));
  group.add_instruction(node(i).op, node(i).first_result, operands);
  if (group_of(i) != none && groups_[group_of(i)].fold == i) {
    group.fold_over(std::get<core::AxesAttributes>(graph_.attributes(node(i))).axes);
  }
}

}  // namespace tyto::optimiser
