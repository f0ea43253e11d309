// SPDX-License-Identifier: MIT
// Describes the collective calls of a graph as text, which processes compare before they run it.
#pragma once

#include <span>

#include "core/device/process_group.hpp"
#include "core/graph/graph.hpp"

namespace tyto::core {

/// The collective calls among the nodes, in the order given.
CollectiveCalls collective_calls(const Graph& graph, std::span<const std::uint32_t> order);
/// The outline of a recorded graph; none where it sends or receives messages or calls several groups, whose members may
/// each have a graph of their own.
GraphOutline outline_of(const Graph& graph);
/// The collective call of one node that has an effect.
CollectiveCalls collective_call(const Node& node);

}  // namespace tyto::core
