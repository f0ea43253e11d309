// SPDX-License-Identifier: MIT
// The cost model: which storages are alive while each task runs, with results in place and states updated in place.
#include <algorithm>

#include "optimiser/schedule/problem.hpp"

namespace tyto::schedule {

Simulation::Simulation(const Problem& problem)
    : problem_(problem),
      remaining_(problem.consumers),
      room_(problem.storages(), 0),
      overwritten_(problem.storages(), nothing),
      into_state_(problem.storages(), false) {}

std::int64_t Simulation::run(Task task) {
  const std::span<const std::uint32_t> reads = problem_.reads[task];
  const auto reads_it = [&](std::uint32_t storage) {
    return std::find(reads.begin(), reads.end(), storage) != reads.end();
  };
  for (const std::uint32_t made : problem_.makes[task]) {
    const bool shared = problem_.shared[made];
    if (shared && (room_[made] != 0 || into_state_[made])) continue;  // there since its first part
    if (const std::uint32_t state = problem_.update_target[made]; state != nothing) {
      const bool own = !shared && reads_it(state);
      into_state_[made] = remaining_[state] == (own ? 1U : 0U);
      if (into_state_[made]) continue;
    }
    // A storage that another result of the task has taken has no bytes left.
    for (const std::uint32_t storage : problem_.in_place_candidates[made]) {
      if (remaining_[storage] != 1 || room_[storage] == 0 || (shared && !reads_it(storage))) continue;
      overwritten_[made] = storage;
      room_[made] = room_[storage];
      room_[storage] = 0;
      break;
    }
    if (overwritten_[made] != nothing) continue;
    room_[made] = problem_.bytes[made];
    live_ += problem_.bytes[made];
  }
  const std::int64_t during = live_ + problem_.workspace[task];
  for (const std::uint32_t storage : reads) {
    if (--remaining_[storage] != 0) continue;
    live_ -= room_[storage];
    room_[storage] = 0;
  }
  for (const std::uint32_t storage : problem_.makes[task]) {
    if (remaining_[storage] != 0) continue;
    live_ -= room_[storage];
    room_[storage] = 0;
  }
  return during;
}

Footprint footprint(const Problem& problem, const Order& order) {
  Simulation simulation(problem);
  Footprint out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t during = simulation.run(order[i]);
    if (during > out.peak) out = {during, i};
  }
  return out;
}

std::int64_t lower_bound(const Problem& problem) {
  std::int64_t bound = 0;
  for (Task task = 0; task < problem.tasks(); ++task) {
    std::int64_t needed = problem.workspace[task];
    for (const std::uint32_t storage : problem.reads[task]) {
      // A new value that may have been written into its state's memory takes no space.
      if (problem.update_target[storage] == nothing) needed += problem.bytes[storage];
    }
    for (const std::uint32_t storage : problem.makes[task]) {
      const bool read = problem.shared[storage];  // and so counted above
      if (!read && problem.update_target[storage] == nothing && problem.in_place_candidates[storage].empty())
        needed += problem.bytes[storage];
    }
    bound = std::max(bound, needed);
  }
  return bound;
}

std::vector<Block> blocks_of(const Problem& problem, const Order& order, std::int64_t alignment) {
  constexpr std::size_t no_block = SIZE_MAX;
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(problem.storages(), no_block);
  Simulation simulation(problem);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Task task = order[i];
    const auto now = static_cast<std::int64_t>(i);
    simulation.run(task);
    for (const std::uint32_t storage : problem.makes[task]) {
      if (simulation.into_state(storage) || block_of[storage] != no_block) continue;
      if (const std::uint32_t under = simulation.overwritten(storage); under != nothing) {
        block_of[storage] = block_of[under];
        continue;
      }
      block_of[storage] = blocks.size();
      blocks.push_back(
          {.id = storage, .lower = now, .upper = now + 1, .size = problem.bytes[storage], .alignment = alignment});
    }
    for (const auto list : {problem.reads[task], problem.makes[task]}) {
      for (const std::uint32_t storage : list) {
        if (block_of[storage] != no_block) blocks[block_of[storage]].upper = now + 1;
      }
    }
    if (problem.workspace[task] != 0) {
      blocks.push_back({.id = static_cast<std::int64_t>(problem.storages() + task),
                        .lower = now,
                        .upper = now + 1,
                        .size = problem.workspace[task],
                        .alignment = alignment});
    }
  }
  // Storages read at the end of the run live until then.
  for (std::uint32_t storage = 0; storage < problem.storages(); ++storage) {
    if (block_of[storage] == no_block || simulation.remaining(storage) == 0) continue;
    blocks[block_of[storage]].upper = static_cast<std::int64_t>(order.size());
  }
  return blocks;
}

}  // namespace tyto::schedule
