// SPDX-License-Identifier: MIT
// Lifetimes of the memory of a graph's tensors, in one order of the nodes and before a device is asked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimiser/storage/destinations.hpp"

namespace tyto::optimiser {

/// Bytes alive from one position in the order to another, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;  // UINT32_MAX: read after the end
};

struct Lifetimes {
  static constexpr std::uint32_t none = UINT32_MAX;

  std::vector<std::uint32_t> of_port;  // number in list; none for inputs, constants and views of them
  std::vector<Lifetime> list;
};

/// The position of each node in the order.
std::vector<std::uint32_t> positions_in(std::span<const std::uint32_t> order);

/// Position of the last node that reads each port or a view of it; UINT32_MAX for outputs and new values of
/// states.
std::vector<std::uint32_t> last_consumers(const core::Graph& graph, std::span<const std::uint32_t> positions);

/// Views lie where their input lies, results in place of inputs at their last use where the operator allows it, parts
/// in their destinations (empty span: none has one).
Lifetimes lifetimes_of(const core::Graph& graph, std::span<const std::uint32_t> order,
                       std::span<const Destination> destinations = {});

/// The largest sum of bytes alive at one time, and the first position in the order at which it is reached.
struct PeakLoad {
  std::int64_t peak = 0;
  std::uint32_t position = 0;
};
PeakLoad peak_load_of(const Lifetimes& lifetimes, std::uint32_t positions);

}  // namespace tyto::optimiser
