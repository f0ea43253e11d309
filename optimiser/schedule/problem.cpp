// SPDX-License-Identifier: MIT
// Converts a graph to tasks, and an order of tasks back to one of nodes.
#include "optimiser/schedule/problem.hpp"

#include <algorithm>
#include <utility>

namespace tyto::schedule {

using core::GraphNode;
using core::Port;
using optimiser::StorageKind;
using optimiser::Storages;

AdjacencyLists AdjacencyLists::transposed(std::size_t count) const {
  AdjacencyLists out;
  out.begin_.assign(count + 1, 0);
  for (const std::uint32_t item : items_) ++out.begin_[item + 1];
  for (std::size_t i = 0; i < count; ++i) out.begin_[i + 1] += out.begin_[i];
  out.items_.resize(items_.size());
  std::vector<std::uint32_t> next(out.begin_.begin(), out.begin_.end() - 1);
  for (std::uint32_t owner = 0; owner < owners(); ++owner) {
    for (const std::uint32_t item : (*this)[owner]) out.items_[next[item]++] = owner;
  }
  return out;
}

namespace {

// A node without a kernel: a leaf, or a view that runs together with its input.
bool goes_along(const core::Graph& graph, const Storages& storages, std::uint32_t node) {
  return storages.is_free(node) && graph.nodes()[node].input_count <= 1;
}

class ProblemBuilder {
 public:
  ProblemBuilder(const core::Graph& graph, const Storages& storages, std::int64_t alignment,
                 std::span<const optimiser::Destination> destinations)
      : graph_(graph), storages_(storages), destinations_(destinations) {
    const std::size_t count = storages.count();
    problem_.shared.assign(count, false);
    for (Port port = 0; port < destinations.size(); ++port) {
      if (destinations[port]) move_into_whole(port, destinations[port].whole);
    }
    problem_.bytes.assign(count, 0);
    problem_.consumers.assign(count, 0);
    problem_.maker.assign(count, nothing);
    problem_.update_target.assign(count, nothing);
    counted_.assign(count, false);
    listed_.assign(count, nothing);
    refused_.assign(count, nothing);
    for (std::uint32_t s = 0; s < count; ++s) {
      if (storages.kind(s) != StorageKind::planned || is_part(s)) continue;
      const auto bytes = static_cast<std::int64_t>(storages.bytes(s));
      problem_.bytes[s] = (bytes + alignment - 1) / alignment * alignment;
      counted_[s] = true;
    }
    // The memory of a state that is updated matters too: when its last consumer is done it may be overwritten.
    for (const core::GraphUpdate& update : graph.updates()) counted_[state_of(update)] = true;
    for (const optimiser::Destination& destination : destinations) {
      if (!destination) continue;
      const std::uint32_t update = storages.targets().update_of[destination.whole];
      if (update != nothing) problem_.update_target[storages.of(destination.whole)] = state_of(graph.updates()[update]);
    }
  }

  Problem make() {
    made_by_.assign(graph_.nodes().size(), nothing);
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const GraphNode& node = graph_.nodes()[i];
      if (goes_along(graph_, storages_, i)) {
        if (node.input_count != 0) made_by_[i] = made_by_[graph_.producer(graph_.inputs_of(node)[0])];
      } else {
        add(node, i);
      }
    }
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!storages_.targets().direct[i]) ++problem_.consumers[storage_of(graph_.outputs()[i])];
    }
    for (const core::GraphUpdate& update : graph_.updates()) ++problem_.consumers[storage_of(update.port)];
    while (problem_.in_place_candidates.owners() < problem_.storages()) problem_.in_place_candidates.close();
    if (!over_whole_.empty()) add_places_of_wholes();
    problem_.after = problem_.before.transposed(problem_.tasks());
    problem_.consumers_of = problem_.reads.transposed(problem_.storages());
    problem_.workspace.assign(problem_.tasks(), 0);
    return std::move(problem_);
  }

 private:
  // Views of the part move with it; their offset in the whole does not matter here.
  void move_into_whole(Port part, Port whole) {
    if (whole_of_.empty()) whole_of_.assign(storages_.count(), nothing);
    whole_of_[storages_.of(part)] = storages_.of(whole);
    problem_.shared[storages_.of(whole)] = true;
  }
  bool is_part(std::uint32_t storage) const { return !whole_of_.empty() && whole_of_[storage] != nothing; }
  std::uint32_t storage_of(Port port) const {
    const std::uint32_t storage = storages_.of(port);
    return is_part(storage) ? whole_of_[storage] : storage;
  }

  std::uint32_t state_of(const core::GraphUpdate& update) const {
    return storages_.of(graph_.inputs()[update.input].port);
  }

  void add(const GraphNode& node, std::uint32_t index) {
    const auto task = static_cast<Task>(problem_.tasks());
    problem_.node.push_back(index);
    made_by_[index] = task;
    last_listing_.resize(problem_.tasks(), nothing);
    const std::span<const Port> inputs = graph_.inputs_of(node);
    for (const Port input : inputs) {
      const std::uint32_t needed = made_by_[graph_.producer(input)];
      if (needed != nothing && last_listing_[needed] != task) {
        last_listing_[needed] = task;
        problem_.before.add(needed);
      }
    }
    if (core::has_effect(node)) {
      if (last_effect_ != nothing && last_listing_[last_effect_] != task) problem_.before.add(last_effect_);
      last_effect_ = task;
    }
    problem_.before.close();
    const auto read = [&](std::uint32_t storage) {
      if (!counted_[storage] || listed_[storage] == task) return;
      listed_[storage] = task;
      problem_.reads.add(storage);
      ++problem_.consumers[storage];
    };
    for (const Port input : inputs) read(storage_of(input));
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      const Port result = node.first_result + i;
      const std::uint32_t storage = storage_of(result);
      if (storages_.kind(storage) != StorageKind::planned) continue;
      if (problem_.shared[storage]) {
        read(storage);
        problem_.makes.add(storage);
        if (problem_.maker[storage] == nothing) problem_.maker[storage] = task;
        if (covers_whole(result)) list_places_of_whole(node, result, inputs, storage);
        continue;
      }
      if (problem_.maker[storage] != nothing) continue;
      problem_.maker[storage] = task;
      problem_.makes.add(storage);
      if (storages_.is_free(index)) continue;
      list_places(node, result, inputs);
    }
    problem_.reads.close();
    problem_.makes.close();
  }

  void list_places(const GraphNode& node, Port result, std::span<const Port> inputs) {
    const std::uint32_t own = storages_.of(result);
    const std::uint32_t update = storages_.targets().update_of[result];
    if (update != nothing) {
      const std::uint32_t state = state_of(graph_.updates()[update]);
      if (may_take(node, result, inputs, state)) problem_.update_target[own] = state;
    }
    // Storages are numbered in the order in which nodes make them.
    while (problem_.in_place_candidates.owners() < own) problem_.in_place_candidates.close();
    find_refused(node, result, inputs);
    for (const Port input : inputs) {
      const std::uint32_t storage = storage_of(input);
      if (storages_.kind(storage) == StorageKind::planned && refused_[storage] != result)
        problem_.in_place_candidates.add(storage);
    }
    problem_.in_place_candidates.close();
  }

  // The first part takes the place of the whole; when it is as large, in the way that the whole would.
  bool covers_whole(Port result) const {
    const optimiser::Destination& destination = destinations_[result];
    return destination && core::is_dense(destination.view) &&
           optimiser::bytes_of(graph_, result) == optimiser::bytes_of(graph_, destination.whole);
  }

  void list_places_of_whole(const GraphNode& node, Port result, std::span<const Port> inputs, std::uint32_t own) {
    find_refused(node, result, inputs);
    for (const Port input : inputs) {
      const std::uint32_t storage = storage_of(input);
      if (storage != own && storages_.kind(storage) == StorageKind::planned && refused_[storage] != result) {
        over_whole_.emplace_back(own, storage);
      }
    }
  }

  void add_places_of_wholes() {
    std::ranges::stable_sort(over_whole_, std::ranges::less(), &std::pair<std::uint32_t, std::uint32_t>::first);
    AdjacencyLists all;
    auto next = over_whole_.begin();
    for (std::uint32_t storage = 0; storage < problem_.in_place_candidates.owners(); ++storage) {
      for (const std::uint32_t under : problem_.in_place_candidates[storage]) all.add(under);
      for (; next != over_whole_.end() && next->first == storage; ++next) all.add(next->second);
      all.close();
    }
    problem_.in_place_candidates = std::move(all);
  }

  // Marks the storages of operands that the result may not overwrite: one pass, as operands may be thousands.
  void find_refused(const GraphNode& node, Port result, std::span<const Port> inputs) {
    const optimiser::InPlaceRule rule(graph_, node, result);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::uint32_t storage = storage_of(inputs[i]);
      if (refused_[storage] == result) continue;
      if (!rule.allows(i, storages_.view(inputs[i]), storages_.bytes(storage))) refused_[storage] = result;
    }
  }

  bool may_take(const GraphNode& node, Port result, std::span<const Port> inputs, std::uint32_t storage) const {
    const optimiser::InPlaceRule rule(graph_, node, result);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (storage_of(inputs[i]) != storage) continue;
      if (!rule.allows(i, storages_.view(inputs[i]), storages_.bytes(storage))) return false;
    }
    return true;
  }

  const core::Graph& graph_;
  const Storages& storages_;
  std::span<const optimiser::Destination> destinations_;
  Problem problem_;
  std::vector<std::uint32_t> whole_of_;                              // by storage of a part; empty: there are none
  std::vector<std::pair<std::uint32_t, std::uint32_t>> over_whole_;  // a whole, what it may be written over
  std::vector<bool> counted_;                                        // by storage
  std::vector<std::uint32_t> listed_;        // by storage: last task that lists it among its reads
  std::vector<std::uint32_t> refused_;       // by storage: last result that may not be written over it
  std::vector<std::uint32_t> last_listing_;  // by task: last task that lists it as needed
  std::vector<std::uint32_t> made_by_;       // by node: the task behind its result, or nothing
  std::uint32_t last_effect_ = nothing;
};

}  // namespace

Problem make_problem(const core::Graph& graph, const Storages& storages, std::int64_t alignment,
                     std::span<const optimiser::Destination> destinations) {
  return ProblemBuilder(graph, storages, alignment, destinations).make();
}

std::vector<std::uint32_t> nodes_in_order(const core::Graph& graph, const Problem& problem, const Order& order) {
  std::vector<std::uint32_t> nodes;
  nodes.reserve(graph.nodes().size());
  std::vector<bool> is_task(graph.nodes().size(), false);
  std::vector<bool> placed(graph.nodes().size(), false);
  for (const std::uint32_t node : problem.node) is_task[node] = true;
  std::vector<std::uint32_t> chain;
  // A node that is no task has one input at most: what it looks at is a chain that ends at a task or a leaf.
  const auto place_with_views = [&](std::uint32_t last) {
    for (std::uint32_t node = last; !placed[node] && !is_task[node];) {
      placed[node] = true;
      chain.push_back(node);
      if (graph.nodes()[node].input_count == 0) break;
      node = graph.producer(graph.inputs_of(graph.nodes()[node])[0]);
    }
    nodes.insert(nodes.end(), chain.rbegin(), chain.rend());
    chain.clear();
  };
  for (const Task task : order) {
    const std::uint32_t node = problem.node[task];
    for (const Port input : graph.inputs_of(graph.nodes()[node])) place_with_views(graph.producer(input));
    placed[node] = true;
    nodes.push_back(node);
  }
  for (std::uint32_t node = 0; node < graph.nodes().size(); ++node) place_with_views(node);
  return nodes;
}

bool is_order(const Problem& problem, const Order& order) {
  std::vector<bool> done(problem.tasks(), false);
  for (const Task task : order) {
    if (task >= problem.tasks() || done[task]) return false;
    for (const Task needed : problem.before[task]) {
      if (!done[needed]) return false;
    }
    done[task] = true;
  }
  return order.size() == problem.tasks();
}

}  // namespace tyto::schedule
