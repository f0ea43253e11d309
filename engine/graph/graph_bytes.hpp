// SPDX-License-Identifier: MIT
// A whole graph as bytes, with its constants and states, and back: what saved graphs are made of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::run {

/// Throws GraphError naming an operator that is a function of this process and a state without contents.
std::vector<std::byte> graph_to_bytes(const core::Graph& graph);

/// The graph with states of its own. Everything is checked; IoError states what is wrong and where.
core::Graph graph_from_bytes(std::string_view name, std::span<const std::byte> bytes);

/// One line a node: number, operator, attributes, inputs, type, label.
std::string graph_to_text(const core::Graph& graph);

}  // namespace tyto::run
