// SPDX-License-Identifier: MIT
// The order in which a graph's nodes run: several ways to find one, the lowest peak of live bytes wins.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimiser/schedule/problem.hpp"

namespace tyto::schedule {

struct ScheduleOptions {
  std::string strategy = "best";  // a name of schedule_strategies()
  std::int64_t work = 0;          // visits of tasks that improvement may take; 0: a default that grows with the graph
  /// An order other than the recorded (or the plain depth-first) one is taken only when its peak is lower by more than
  /// this share: those keep neighbours together, which caches like.
  double worth_changing = 0.02;
};

/// An order of tasks and what it costs.
struct Schedule {
  Order order;
  std::string_view strategy;  // what made it; for "best" what won
  std::int64_t peak = 0;      // most bytes alive at once
};

struct ScheduleStrategy {
  std::string_view name;
  std::string_view summary;
};
std::span<const ScheduleStrategy> schedule_strategies();

/// Throws ValueError for an unknown strategy.
Schedule choose_order(const Problem& problem, const ScheduleOptions& options = {});

/// Memory besides storages, as far as it is known before the steps are made.
struct ExtraMemory {
  /// Computes the destinations of all ports when nodes run in this order; null where nothing is joined.
  std::function<std::vector<optimiser::Destination>(std::span<const std::uint32_t> order)> destinations;
  std::vector<std::int64_t> workspace;  // by node: bytes that it needs while it runs; empty: none
};

/// An order of nodes: inputs precede their consumers; ports and numbers stay as they are.
struct NodeOrder {
  std::vector<std::uint32_t> nodes;
  std::vector<optimiser::Destination> destinations;  // as chosen for it; empty where nothing is joined
  std::int64_t peak = 0;                             // most bytes alive at once
};

/// The same for a graph.
NodeOrder order_of(const core::Graph& graph, const optimiser::Storages& storages, const ExtraMemory& extra = {},
                   const ScheduleOptions& options = {});

}  // namespace tyto::schedule
