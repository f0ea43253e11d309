// SPDX-License-Identifier: MIT
// Names of states for pictures, pages and formulas.
#pragma once

#include <string>
#include <unordered_map>

#include "core/graph/graph.hpp"

namespace tyto::run {

using StateNames = std::unordered_map<const core::State*, std::string>;
using InputNames = std::unordered_map<core::Port, std::string>;

/// Names of states: their path, which is that of the layer that reads them first, "encoder.weight", or by their own
/// name where no layer does. `graph` is the recorded one: nodes of an optimised one lie in several layers.
StateNames names_of_states(const core::Graph& graph);

/// Names of the inputs of the recorded graph or of one made of it: states, packed or not, and placeholders.
InputNames names_of_inputs(const core::Graph& graph, const StateNames& states);

}  // namespace tyto::run
