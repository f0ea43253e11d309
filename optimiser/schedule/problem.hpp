// SPDX-License-Identifier: MIT
// The scheduling problem: tasks that run kernels, the storages they make and read, and the cost of an order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimiser/storage/destinations.hpp"
#include "optimiser/storage/storages.hpp"
#include "tyto/memory.hpp"

namespace tyto::schedule {

using Task = std::uint32_t;
using Order = std::vector<Task>;
inline constexpr std::uint32_t nothing = UINT32_MAX;

/// Adjacency lists in one array (compressed rows): one list of numbers per owner.
class AdjacencyLists {
 public:
  std::span<const std::uint32_t> operator[](std::size_t owner) const {
    return {items_.data() + begin_[owner], begin_[owner + 1] - begin_[owner]};
  }
  std::size_t owners() const { return begin_.size() - 1; }
  std::size_t items() const { return items_.size(); }

  void add(std::uint32_t item) { items_.push_back(item); }
  /// The items added since belong to the next owner.
  void close() { begin_.push_back(static_cast<std::uint32_t>(items_.size())); }
  /// The transpose: which owners list each of `count` items.
  AdjacencyLists transposed(std::size_t count) const;

 private:
  std::vector<std::uint32_t> begin_{0};
  std::vector<std::uint32_t> items_;
};

/// Nodes without a kernel (leaves, views) are no tasks: they go along with what they look at. Tasks are numbered in the
/// recorded order. Storages that take no space in the arena and are not overwritten have no consumers here.
struct Problem {
  std::vector<std::uint32_t> node;  // of each task
  AdjacencyLists before;            // tasks whose results a task needs, each once
  AdjacencyLists after;             // the transpose of it
  AdjacencyLists makes;             // storages
  AdjacencyLists reads;             // storages, each once
  AdjacencyLists
      in_place_candidates;  // by storage: storages that it may be computed in place of, in order of preference
  std::vector<std::uint32_t> update_target;  // by storage: that of the state that it may update in place, or nothing
  std::vector<std::int64_t> workspace;       // by task
  std::vector<std::int64_t> bytes;           // by storage; 0 where it takes no space
  std::vector<std::uint32_t> consumers;      // by storage: tasks, and one more when it is read at the end of the run
  AdjacencyLists consumers_of;               // by storage: the tasks
  std::vector<std::uint32_t> maker;          // by storage: the (first recorded) task, or nothing
  std::vector<bool> shared;                  // by storage: several tasks make parts of it, and count as consumers, too

  std::size_t tasks() const { return node.size(); }
  std::size_t storages() const { return bytes.size(); }
};

/// Sizes are rounded up to `alignment`, as they will be in the arena. Parts that have a destination lie in the storage
/// of their whole, which is there from the first of them on (empty span: none has one).
Problem make_problem(const core::Graph& graph, const optimiser::Storages& storages, std::int64_t alignment = 64,
                     std::span<const optimiser::Destination> destinations = {});

/// Nodes in an order of tasks: each leaf and view right before the first task that needs it, the others at the end.
std::vector<std::uint32_t> nodes_in_order(const core::Graph& graph, const Problem& problem, const Order& order);

/// Runs tasks one by one and keeps count of the bytes alive, as the executable will place them.
class Simulation {
 public:
  explicit Simulation(const Problem& problem);

  /// Bytes alive while the task runs. A task's inputs must have run before.
  std::int64_t run(Task task);
  /// Bytes alive between tasks.
  std::int64_t live() const { return live_; }
  std::uint32_t remaining(std::uint32_t storage) const { return remaining_[storage]; }
  /// Bytes that a storage takes now: none before it is made, after its last consumer, or inside a state's memory.
  std::int64_t room(std::uint32_t storage) const { return room_[storage]; }
  /// The storage that this one was computed in place of; nothing for none.
  std::uint32_t overwritten(std::uint32_t storage) const { return overwritten_[storage]; }
  /// True when it was written into a state's memory.
  bool into_state(std::uint32_t storage) const { return into_state_[storage]; }

 private:
  const Problem& problem_;
  std::vector<std::uint32_t> remaining_;
  std::vector<std::int64_t> room_;
  std::int64_t live_ = 0;
  std::vector<std::uint32_t> overwritten_;
  std::vector<bool> into_state_;
};

struct Footprint {
  std::int64_t peak = 0;
  std::size_t at = 0;  // position of the first task at which it is reached
};

Footprint footprint(const Problem& problem, const Order& order);

/// No order has a lower peak: the bytes of the largest task by itself.
std::int64_t lower_bound(const Problem& problem);

/// The blocks that the order asks the memory planner for; time is the position in the order. Ids are storages.
std::vector<Block> blocks_of(const Problem& problem, const Order& order, std::int64_t alignment = 64);

/// True when every task occurs once, after the tasks that it depends on.
bool is_order(const Problem& problem, const Order& order);

}  // namespace tyto::schedule
