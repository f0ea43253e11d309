// SPDX-License-Identifier: MIT
// Estimates what a fusion group does to the lifetimes of others: it runs at one position, its members ran at several.
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/fuser.hpp"

namespace tyto::optimiser {

// Lists the readers of each tensor's memory, in order, looking through views and repeated nodes.
void Fuser::list_reads() {
  memory_of_.resize(graph_.port_count());
  heavy_before_.assign(size() + 1, 0);
  std::vector<std::pair<Port, Index>> reads;
  for (Index i = 0; i < size(); ++i) {
    const GraphNode& each = node(i);
    const OpDef& def = core::definition(each.op);
    for (Port port = each.first_result; port < each.first_result + each.result_count; ++port) memory_of_[port] = port;
    const auto visit = [&](Port port) { reads.emplace_back(memory_of_[port], i); };
    if (def.is(Traits::view)) {
      for (const Port input : graph_.inputs_of(each)) {
        if (!scalar_of(graph_, memory_of_[input])) memory_of_[each.first_result] = memory_of_[input];
      }
    } else if (live_[i] && fusible_[i] && !repeated_[i]) {
      each_operand(i, visit);
    } else if (live_[i] && !repeated_[i]) {
      std::ranges::for_each(graph_.inputs_of(each), visit);
    }
    const bool free = !live_[i] || fusible_[i] || def.is(Traits::view) || is_kept(each.first_result);
    heavy_before_[i + 1] = heavy_before_[i] + (free ? 0 : 1);
  }
  for (const Port port : graph_.outputs()) reads.emplace_back(memory_of_[port], size());
  for (const core::GraphUpdate& update : graph_.updates()) reads.emplace_back(memory_of_[update.port], size());
  first_consumer_.assign(graph_.port_count() + 1, 0);
  for (const auto& [port, consumer] : reads) ++first_consumer_[port + 1];
  for (Port port = 0; port < graph_.port_count(); ++port) first_consumer_[port + 1] += first_consumer_[port];
  reads_.resize(reads.size());
  std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
  for (const auto& [port, consumer] : reads) reads_[next[port]++] = consumer;
}

std::span<const std::uint32_t> Fuser::consumers_of(Port port) const {
  return {reads_.data() + first_consumer_[port], first_consumer_[port + 1] - first_consumer_[port]};
}

Fuser::Reading Fuser::reading_of(Index group, Index i) {
  Reading out;
  each_member(group, [&](Index member) {
    const Port port = node(member).first_result;
    const std::span<const Index> consumers = consumers_of(port);
    const auto other = std::ranges::find_if(consumers, [&](Index consumer) {
      return consumer != i && (consumer >= size() || group_of(consumer) != group);
    });
    const bool by_node = std::ranges::binary_search(consumers, i);
    if (other != consumers.end()) out.first_other = std::min(out.first_other, *other);
    if (other != consumers.end() || by_node) out.results += bytes(port);
    if (other == consumers.end() && by_node) out.for_node += bytes(port);
  });
  return out;
}

std::size_t Fuser::kept_until(Index when, Index group) {
  std::size_t kept = 0;
  for (const Port input : groups_[group].inputs) {
    const Port port = memory_of_[input];
    if (is_kept(port)) continue;
    const std::span<const Index> consumers = consumers_of(port);
    const auto other = std::find_if(consumers.rbegin(), consumers.rend(),
                                    [&](Index consumer) { return consumer >= size() || group_of(consumer) != group; });
    const bool alone = groups_[group].when < groups_[group].first;
    const Index until = other != consumers.rend() && !alone ? *other : made_at(graph_.producer(port));
    if (until < when && !same_time(until, when)) kept += bytes(port);
  }
  return kept;
}

std::uint32_t Fuser::made_at(Index i) {
  const Index group = group_of(i);
  return group == none ? i : groups_[group].when;
}

// A mask, or another result smaller than the one tensor that it is computed from, could be computed as soon as that
// exists, and free it: where that would save most, no group delays it.
std::uint32_t Fuser::soonest(Index i) {
  Port from = core::no_port;
  bool one = true;
  each_operand(i, [&](Port port) {
    if (is_kept(memory_of_[port]) || memory_of_[port] == from) return;
    one = one && from == core::no_port;
    from = memory_of_[port];
  });
  return one && from != core::no_port && bytes(from) > bytes(node(i).first_result) ? made_at(graph_.producer(from)) : i;
}

// Groups and node would become one kernel, which runs at the node's place or, when others read results of a group
// before that, where the last of the groups does. Members that run later must not keep more memory alive than their
// results would take; those that run earlier must take no more than fusion saves. None where either condition fails.
std::uint32_t Fuser::time_together(std::span<const Index> groups, Index i) {
  const Index own = groups_[group_of(i)].when;
  bool early = false;
  Index latest = 0;
  std::size_t for_node = 0;
  std::array<Reading, most_operands> readings;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    readings[k] = reading_of(groups[k], i);
    early = early || (readings[k].first_other < i && !same_time(groups_[groups[k]].when, i));
    latest = std::max(latest, groups_[groups[k]].when);
    for_node += readings[k].for_node;
  }
  const Index when = early ? latest : own;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const Index at = groups_[groups[k]].when;
    if (same_time(at, when)) continue;
    if (at > when || readings[k].first_other < when) return none;
    if (kept_until(when, groups[k]) > readings[k].results) return none;
  }
  if (same_time(when, i)) return when;
  bool ready = bytes(node(i).first_result) <= for_node;
  each_operand(i, [&](Port port) {
    const Index made = made_at(graph_.producer(memory_of_[port]));
    ready = ready && (is_kept(memory_of_[port]) || made <= when || same_time(made, when));
  });
  return ready ? when : none;
}

bool Fuser::is_kept(Port port) const {
  const GraphNode& producer = node(graph_.producer(port));
  return core::definition(producer.op).is(Traits::leaf) || producer.op == OpId::read ||
         scalar_of(graph_, port).has_value();
}

}  // namespace tyto::optimiser
